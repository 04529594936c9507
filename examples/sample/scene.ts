import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import type { AnyBlock } from '../../src/events/blocks.ts'
import type { Conversation, Store, ToolFunction, ToolSettings, TurnOptions } from '../../src/index.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { toolsIn } from '../agent/tools.ts'
import { agent, helper } from './agent.ts'
import { agentSays, explorerSays, forkSays, summaries } from './said.ts'

// An afternoon with an agent, played by the strict stand-in for the Messages API: whatever can become of a conversation happens once.

export const main = 'hours-invoice'
export const fork = 'hours-invoice-other-way'
export const explorer = 'hours-invoice.explore'

/** Plays it in an empty store. */
export const play = async (store: Store): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-sample-'))
  await cp(new URL('../agent/project', import.meta.url), folder, { recursive: true })
  const chat = store.conversation(main)
  let says: Iterator<readonly AnyBlock[]> = agentSays.values()
  const summary = summaries.values()
  const found = explorerSays.values()
  const api = await messagesApi({
    models: {
      [agent.model]: { contextWindow: agent.context.window },
      [helper.model]: { contextWindow: 200_000 },
    },
    // A prompt cache that never grows old.
    now: () => 0,
    reply: ({ model: asked }) => {
      const said = asked === agent.model ? says : asked === helper.model ? found : summary
      return { content: said.next().value ?? [{ type: 'text', text: 'Done.' }] }
    },
  })
  const client = new Anthropic({ baseURL: api.url, apiKey: 'none' })
  const explore = async (
    { question }: { readonly question: string },
    { id: call }: { readonly id: string },
  ): Promise<readonly AnyBlock[]> => {
    const sent = store.conversation(explorer)
    await sent.append({ role: 'user', content: question })
    await sent.link({ relation: 'subagent-of', conversation: main, call })
    return (await sent.turn({ ...helper, client, run: toolsIn(folder) })).content.filter(
      ({ type }) => type === 'text',
    )
  }
  const options: TurnOptions = {
    ...agent,
    client,
    run: { ...agent.run, ...oneAfterTheOther(toolsIn(folder)), explore: { idempotent: true, run: explore } },
  }
  const asked = async (of: Conversation, content: string): Promise<void> => {
    await of.append({ role: 'user', content })
    await of.turn(options)
  }
  try {
    await asked(
      chat,
      'An invoice lists 1:30 at 80.00 an hour as 80.00. It should be 120.00. Find out why, and fix it.',
    )
    const fixed = await chat.position()
    await asked(chat, 'Good. Now do the TODOs of src/money.js and src/dates.js.')
    const before = await chat.position()
    await asked(chat, 'Amounts of a million and more do not line up in reports. Make room for them.')
    await chat.rewind({ to: before, reason: 'it was asked for room, not for a new module' })
    await asked(
      chat,
      'Amounts of a million and more do not line up in reports. Make room for them in report.js; no new files.',
    )
    const { position } = await chat.truncate({ fraction: 0.5, reason: 'does it know without them?' })
    await chat.restore({ marker: position })
    await asked(chat, 'Check all callers, and note the changes.')
    await chat.truncate({ fraction: 0.4, reason: 'settled' })
    await asked(chat, 'Publish it.')
    says = forkSays.values()
    await chat.fork(fork, { at: fixed })
    await asked(store.conversation(fork), 'Is there a way without fractions of an hour?')
  } finally {
    await api.close()
    await rm(folder, { recursive: true })
  }
}

/** Two edits of a file at once would depend on which is faster. */
const oneAfterTheOther = (run: NonNullable<TurnOptions['run']>): NonNullable<TurnOptions['run']> => {
  let last: Promise<unknown> = Promise.resolve()
  const queued =
    (tool: ToolFunction): ToolFunction =>
    (input, context) => {
      const ran = last.then(() => tool(input, context))
      last = ran.catch(() => undefined)
      return ran
    }
  const settled = (tool: ToolFunction | ToolSettings): ToolSettings =>
    typeof tool === 'function' ? { run: queued(tool) } : { ...tool, run: queued(tool.run) }
  return Object.fromEntries(Object.entries(run).map(([name, tool]) => [name, settled(tool)]))
}
