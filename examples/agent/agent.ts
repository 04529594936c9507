import type Anthropic from '@anthropic-ai/sdk'
import type { Conversation } from '../../src/index.ts'
import { tools, toolsIn } from './tools.ts'

// All of an agent that works in a folder for as long as it likes. What it said and did is in the store before the next thing
// happens, its context fits the window whatever it reads, and each request can be shown again as it was sent.

interface Agent {
  /** Where it goes on, if it has been there: `store.conversation('any-id')`. */
  readonly chat: Conversation
  /** `new Anthropic()` */
  readonly client: Anthropic
  readonly model: string
  /** The model's context window, in tokens. */
  readonly window: number
  /** Where it may read and write. */
  readonly folder: string
}

/** The most tokens of one answer, for which there is always room in the window. */
export const maxOutput = 4_000

const system =
  'You work on a small program. Its files are reached with your tools only; nothing can be run. Look before you change something, change as little as is needed, and say in two or three sentences what you did.'

/** Does what a prompt asks for. Resolves once the model has nothing more to do; rejects where its API fails. */
export const agent = ({ chat, client, model, window, folder }: Agent) => {
  const run = toolsIn(folder)
  return async (prompt: string) => {
    await chat.append({ role: 'user', content: prompt })
    return chat.turn({
      client,
      model,
      system,
      tools,
      run,
      parameters: { thinking: { type: 'adaptive' } },
      context: { window, maxOutput },
      summarizer: { model: 'claude-haiku-4-5', window: 200_000 },
    })
  }
}
