import type { BenchMessage } from '../messages.ts'
import type { OpenAppender } from './appender.ts'

interface PiModule {
  readonly SessionManager: {
    readonly create: (cwd: string, folder: string) => { readonly appendMessage: (message: object) => string }
  }
}

const entry = new URL('../node_modules/@mariozechner/pi-coding-agent/dist/index.js', import.meta.url)

/** The session manager of the pi coding agent: a JSONL file that is not waited for. */
export const openPi: OpenAppender = async (folder) => {
  // By its address: the project type-checks whether the peers are installed or not.
  const { SessionManager } = (await import(entry.href)) as PiModule
  const session = SessionManager.create(folder, folder)
  return {
    name: 'pi session manager, no fsync',
    append: async (messages) => {
      for (const message of messages) session.appendMessage(piMessage(message))
    },
    close: async () => undefined,
  }
}

const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
const ofModel = {
  api: 'anthropic-messages',
  provider: 'anthropic',
  model: 'claude',
  stopReason: 'stop',
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost },
}

const piMessage = ({ role, content }: BenchMessage): object => ({
  role,
  content: [{ type: 'text', text: content }],
  timestamp: Date.now(),
  ...(role === 'assistant' && ofModel),
})
