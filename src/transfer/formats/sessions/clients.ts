import type { SessionFormatName } from '../plan.ts'
import type { SessionWriter } from './session-writer.ts'

/** Environment variables of a process. */
type Env = Readonly<Record<string, string | undefined>>

/** A program that continues conversations from session files. */
export interface SessionClient {
  /** Name of the client and of its format. */
  readonly name: SessionFormatName
  /** Name for people. */
  readonly title: string
  /** The command that starts it. */
  readonly program: string
  /** Returns the folder in which the client keeps its files. A client without it imports files. */
  readonly folder?: (env: Env, home: string) => string
  /** Returns the arguments with which the client imports a file. */
  readonly imports?: (file: string) => readonly string[]
  /** Returns the arguments with which the client continues a session. */
  readonly resume: (id: string, file: string) => readonly string[]
  /** Extension of a file in this format, without the dot. */
  readonly extension: 'jsonl' | 'json'
  readonly load: () => Promise<SessionWriter>
}

/** The clients by name. */
export const clients: Readonly<Record<SessionFormatName, SessionClient>> = {
  'claude-code': {
    name: 'claude-code',
    title: 'Claude Code',
    program: 'claude',
    folder: (env, home) => env['CLAUDE_CONFIG_DIR'] || `${home}/.claude`,
    resume: (id) => ['--resume', id],
    extension: 'jsonl',
    load: async () => (await import('./write-claude-code.ts')).claudeCodeWriter,
  },
  codex: {
    name: 'codex',
    title: 'Codex',
    program: 'codex',
    folder: (env, home) => env['CODEX_HOME'] || `${home}/.codex`,
    resume: (id) => ['resume', id],
    extension: 'jsonl',
    load: async () => (await import('./write-codex.ts')).codexWriter,
  },
  pi: {
    name: 'pi',
    title: 'pi',
    program: 'pi',
    folder: (env, home) => env['PI_CODING_AGENT_DIR'] || `${home}/.pi/agent`,
    resume: (_, file) => ['--session', file],
    extension: 'jsonl',
    load: async () => (await import('./write-pi.ts')).piWriter,
  },
  opencode: {
    name: 'opencode',
    title: 'opencode',
    program: 'opencode',
    imports: (file) => ['import', file],
    resume: (id) => ['--session', id],
    extension: 'json',
    load: async () => ({ write: (await import('./write-opencode.ts')).writeOpencode }),
  },
}

/** Returns the client that a text names: its name, or the command that starts it; undefined if it names none. */
export const clientNamed = (text: string): SessionClient | undefined => {
  const name = text.toLowerCase()
  return Object.values(clients).find((client) => client.name === name || client.program === name)
}
