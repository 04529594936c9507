import { closeSync, openSync, readSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { isBlock } from '../events/blocks.ts'
import { ownWords } from '../projections/titles.ts'
import { parseSession } from '../transfer/formats/parse-session.ts'
import { isStored } from '../transfer/formats/plan.ts'
import { blocksOf } from '../transfer/formats/actions.ts'
import { clients } from '../transfer/formats/sessions/clients.ts'
import type { CliError } from './errors.ts'
import { databaseNamed, filesIn, kindOf } from './session-files.ts'

/** A session file of another program, in the folder in which the program keeps it. */
export interface MachineSession {
  readonly format: 'claude-code' | 'codex' | 'pi' | 'copilot' | 'gemini-cli' | 'opencode'
  readonly file: string
  /** Size in bytes; 0 for a session in a database. */
  readonly size: number
  /** Time of the last change, in ISO 8601. */
  readonly time: string
  /** Description of a session in a database. */
  readonly head?: SessionHead
}

/** Facts about a session from the beginning of its file. */
export interface SessionHead {
  /** Folder in which the program ran. */
  readonly project?: string
  /** Beginning of the first prompt, on one line. */
  readonly prompt?: string
}

type Env = Readonly<Record<string, string | undefined>>

/** Returns the folders in which the programs keep their sessions. */
const foldersOf = (env: Env): readonly (readonly [MachineSession['format'], string])[] => {
  const home = env['HOME'] || homedir()
  const folder = (name: 'claude-code' | 'codex' | 'pi'): string => clients[name].folder?.(env, home) ?? home
  return [
    ['claude-code', `${folder('claude-code')}/projects`],
    ['codex', `${folder('codex')}/sessions`],
    ['codex', `${folder('codex')}/archived_sessions`],
    ['pi', `${folder('pi')}/sessions`],
    ['copilot', `${home}/.copilot/session-state`],
    ['gemini-cli', `${env['GEMINI_CLI_HOME'] || home}/.gemini/tmp`],
  ]
}

/** Lists the sessions of this machine, newest first, without those of subagents. */
export const machineSessions = async (env: Env): Promise<readonly MachineSession[]> =>
  [...(await opencodeOf(env)), ...filesOf(env)].toSorted((one, other) => (one.time < other.time ? 1 : -1))

const filesOf = (env: Env): readonly MachineSession[] =>
  foldersOf(env).flatMap(([format, folder]) =>
    filesIn(folder).flatMap(({ file, isFound }): readonly MachineSession[] => {
      const stats = isFound && isSession(format, file) ? kindOf(file) : undefined
      return stats ? [{ format, file, size: stats.size, time: stats.mtime.toISOString() }] : []
    }),
  )

/** Lists the sessions in the database of opencode. A database that cannot be read has none. */
const opencodeOf = async (env: Env): Promise<readonly MachineSession[]> => {
  const data = env['XDG_DATA_HOME'] || join(env['HOME'] || homedir(), '.local/share')
  const path = join(data, 'opencode/opencode.db')
  if (!databaseNamed(path)) return []
  const { openAt } = await import('../api/opencode-sessions.ts')
  try {
    const database = openAt(path)
    const sessions = database.sessions().filter(({ isSubagent }) => !isSubagent)
    database.close()
    return sessions.map(({ id, time, project, title }) => ({
      format: 'opencode',
      file: `${path}#${id}`,
      size: 0,
      time,
      head: { project, prompt: title },
    }))
  } catch {
    return []
  }
}

const isSession = (format: string, file: string): boolean => {
  if (format === 'copilot') return file.endsWith('/events.jsonl')
  if (format === 'gemini-cli') return /\/chats\/session-[^/]*$/.test(file)
  return !/\/(?:subagents\/|agent-)[^/]*$/.test(file)
}

/** Number of bytes that are read to describe a session: the system prompt of a program may come first. */
const headSize = 256 * 1024

/** Describes a session by the beginning of its file. */
export const readHead = ({ file, format, head }: MachineSession): SessionHead => {
  if (head) return head
  const text = beginningOf(file)
  const project = format === 'gemini-cli' ? rootBeside(file) : folderIn(text)
  const prompt = promptIn(text, file, format)
  return { ...(project !== undefined && { project }), ...(prompt !== undefined && { prompt }) }
}

const folderIn = (text: string): string | undefined => {
  const [, cwd] = /"cwd":\s*("(?:[^"\\]|\\.)*")/.exec(text) ?? []
  return cwd === undefined ? undefined : String(JSON.parse(cwd))
}

/** Returns the project's folder, which newer versions of Gemini CLI keep next to the folder of the session. */
const rootBeside = (file: string): string | undefined =>
  beginningOf(join(file, '../../.project_root')).trim() || undefined

const beginningOf = (file: string): string => {
  const bytes = Buffer.alloc(headSize)
  try {
    const open = openSync(file, 'r')
    try {
      const size = readSync(open, bytes, 0, headSize, 0)
      const text = bytes.toString('utf8', 0, size)
      // The last line may be cut off.
      return size < headSize ? text : text.slice(0, text.lastIndexOf('\n') + 1)
    } finally {
      closeSync(open)
    }
  } catch {
    return ''
  }
}

const promptIn = (text: string, file: string, format: string): string | undefined => {
  const plan = parseSession({ text, file, format, skipBadLines: true })
  if (E.isLeft(plan) || isStored(plan.right)) return undefined
  for (const action of plan.right.conversations[0]?.actions ?? []) {
    if (action.type !== 'message' || action.message.role !== 'user') continue
    const said = blocksOf(action.message).flatMap((block) =>
      isBlock(block, 'text') ? [ownWords(block.text)] : [],
    )
    const line = said.join(' ').replaceAll(/\s+/g, ' ').trim()
    // Programs themselves tell the model where it is.
    if (line !== '' && !line.startsWith('<')) return line.slice(0, 200)
  }
  return undefined
}

/** Makes an error for a machine without sessions, or without those of a format. */
export const noSessionFound = (format: string | undefined): CliError => ({
  _tag: 'FileUnreadable',
  message: `there is no session${format === undefined ? '' : ` of ${format}`} in the folders of Claude Code, Codex, pi, opencode, Copilot CLI and Gemini CLI: name a file`,
})
