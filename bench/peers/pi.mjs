import { readdirSync } from 'node:fs'
import { join } from 'node:path'
// Its bundle: several of the packages that its other entry imports are not published, see package.json.
import { SessionManager } from '../node_modules/@earendil-works/pi-coding-agent/dist/bundle/index.js'

/** The session manager of the pi coding agent: a JSONL file, read whole when it is opened. */
export const peer = () => ({
  name: 'pi 1.5.2',
  durable: false,
  open: async (folder) => {
    const opened = () => {
      const file = readdirSync(folder).find((name) => name.endsWith('.jsonl'))
      return file ? SessionManager.open(join(folder, file), folder) : SessionManager.create(folder, folder)
    }
    const session = opened()
    const append = async (messages) => {
      for (const message of messages) session.appendMessage(piMessage(message))
    }
    return {
      append,
      last: async (count) => opened().getEntries().slice(-count),
      all: async () => opened().getEntries(),
      compact: async (summary, keepLast) => {
        session.appendCompaction(summary, session.getBranch().at(-keepLast).id, 100_000)
      },
      effective: async () => session.buildSessionContext().messages,
      close: async () => undefined,
    }
  },
})

const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
const ofModel = {
  api: 'anthropic-messages',
  provider: 'anthropic',
  model: 'claude',
  stopReason: 'stop',
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost },
}

const piMessage = ({ role, content }) => ({
  role,
  content: [{ type: 'text', text: content }],
  timestamp: Date.now(),
  ...(role === 'assistant' && ofModel),
})
