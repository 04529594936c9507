import type { NewMessage } from '../src/core.ts'
import type { Conversation } from '../src/index.ts'

/** What one message alone says, to be searched for: one in a thousand has such words. */
export const rareWords = (nth: number): string => `See ticket ${nth}.`
const rare = 1_000

const subjects = [
  'The parser',
  'A test',
  'The cache',
  'This file',
  'The last commit',
  'A worker',
  'The index',
]
const verbs = ['stops at', 'reads', 'skips', 'keeps', 'rewrites', 'waits for', 'compares']
const objects = ['line 80', 'an empty list', 'the second page', 'every event', 'two requests', 'its own name']
const tools = ['Read', 'Bash', 'Grep', 'Edit']

/** Numbers below a bound, the same for the same seed. */
const drawing = (seed: number) => {
  let state = seed >>> 0
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Turns of an agent, the same for the same seed. */
const turnsOf = (seed: number): (() => readonly NewMessage[]) => {
  const draw = drawing(seed)
  const oneOf = (words: readonly string[]): string => words[draw(words.length)] ?? ''
  let said = 0
  const prose = (): string => {
    const sentences = Array.from({ length: 1 + draw(4) }, () =>
      [subjects, verbs, objects].map(oneOf).join(' '),
    )
    const more = said % rare === 0 ? ` ${rareWords(said / rare)}` : ''
    return `${said++}. ${sentences.join('. ')}.${more}`
  }
  const call = (): readonly NewMessage[] => {
    const id = `toolu_${said}`
    const input = { path: `src/file-${draw(900)}.ts` }
    return [
      { role: 'assistant', content: [{ type: 'tool_use', id, name: oneOf(tools), input }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: prose() }] },
    ]
  }
  return () => [
    { role: 'user', content: prose() },
    ...Array.from({ length: 1 + draw(4) }, call).flat(),
    { role: 'assistant', content: prose(), origin: { model: 'claude-opus-5-5' } },
  ]
}

/** How many messages come between two summaries. */
const cycle = 400

type Appended = (last: number) => Promise<void>
const unheard: Appended = async () => undefined

/** A long conversation, from its beginning. */
export interface LongLog {
  /** Writes until it has so many events, and at most one cycle (some 450) more; its last position. */
  readonly growTo: (events: number) => Promise<number>
}

/**
 * Writes an empty conversation as an agent does: turns with calls of tools, a summary every 400 messages, so that 40 to 450 items are
 * shown, and once in a while a rewind. The same for the same seed, but for times and ids.
 *
 * @param batch how many messages are appended at once
 * @param appended told of the last position after each append, and waited for
 */
export const longLog = (
  chat: Conversation,
  { seed = 1, batch = cycle, appended = unheard } = {},
): LongLog => {
  const turn = turnsOf(seed)
  let last = -1
  let cycles = 0
  const append = async (messages: readonly NewMessage[]): Promise<void> => {
    for (let from = 0; from < messages.length; from += batch) {
      last = (await chat.append(messages.slice(from, from + batch))).position
      await appended(last)
    }
  }
  const grow = async (): Promise<void> => {
    const messages: NewMessage[] = []
    while (messages.length < cycle) messages.push(...turn())
    const begun = last + 1
    await append(messages)
    if (cycles++ % 7 === 3) {
      await chat.rewind({ to: begun + 200, reason: 'the wrong file' })
      await append(messages.slice(0, 40))
    }
    last = (await chat.condense({ keepFirst: 1, keepLast: 38, summary: `What was done up to ${last}.` }))
      .position
  }
  return {
    growTo: async (events) => {
      while (last + 1 < events) await grow()
      return last
    },
  }
}
