import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AnyBlock } from '../../../src/events/blocks.ts'
import { effective } from '../../../src/projections/effective.ts'
import { render } from '../../../src/projections/render/render.ts'
import { histories } from '../histories.ts'
import { violations } from '../predicates.ts'
import { runs } from '../runs.ts'
import { haiku, type Messages, params, start } from './client.ts'
import { broken, type Fields } from './requests.ts'

// The predicates, which the tests of render use, and the stand-in were written apart: each is checked against the other.

interface Message {
  readonly role: string
  readonly content: readonly AnyBlock[]
}

/** As the predicates see messages: consecutive ones of a role are one. */
const combined = (messages: readonly Message[]): readonly Message[] => {
  const all: Message[] = []
  for (const message of messages) {
    const last = all.at(-1)
    const isSame = last?.role === message.role && message.role !== 'system'
    if (last && isSame && last.content.length > 0 && message.content.length > 0)
      all.splice(-1, 1, { ...last, content: [...last.content, ...message.content] })
    else all.push(message)
  }
  return all
}

const violated = (messages: readonly Message[], prefill: boolean, more: Fields = {}): readonly string[] =>
  violations({
    rendered: { ...more, messages: combined(messages) as never, repairs: [], awaits: 'model' },
    options: { prefill },
  })

type Break = (messages: readonly Message[]) => readonly Message[]
const at = (list: readonly unknown[], index: number): number => index % Math.max(1, list.length)

/** One block or message left out, repeated, moved, or said by another. */
const breaks: fc.Arbitrary<Break> = fc
  .tuple(fc.nat(5), fc.nat(), fc.nat(), fc.nat())
  .map(([kind, one, other, block]) => (messages) => {
    const [from, to] = [at(messages, one), at(messages, other)]
    const message = messages[from]
    const target = messages[to]
    if (!message || !target) return messages
    const place = at(message.content, block)
    const taken = message.content.slice(place, place + 1)
    if (kind === 0) return messages.toSpliced(from, 1)
    if (kind === 1) return messages.toSpliced(to, 0, message)
    if (kind === 2) return messages.with(from, target).with(to, message)
    if (kind === 3) return messages.with(from, { ...message, content: message.content.toSpliced(place, 1) })
    if (kind === 4) return messages.with(to, { ...target, content: [...taken, ...target.content] })
    const role = ['user', 'assistant', 'system'][block % 3] ?? 'user'
    return messages.with(from, { ...message, role })
  })

/** The one exception of the API that render does not make. */
const endsEmpty = (messages: readonly Message[]): boolean =>
  messages.at(-1)?.role === 'assistant' && messages.at(-1)?.content.length === 0

describe('the stand-in and the predicates of render', () => {
  it('refuse the same requests', async () => {
    const { client } = await start({ foreignSignatures: true, models: { open: { prefill: true } } })
    const counts = { refused: 0, accepted: 0 }
    await fc.assert(
      fc.asyncProperty(histories(25), fc.array(breaks, { minLength: 1, maxLength: 8 }), async (log, all) => {
        const { system, tools, messages } = render(effective(log), { systemMessages: true })
        for (const broke of all) {
          const tried = broke(messages)
          if (endsEmpty(tried)) continue
          const more = { system, tools }
          const asked = client.messages.create(params(tried, { ...more, model: 'open' }))
          const error = await asked.then(() => '', String)
          const expected = violated(tried, true, JSON.parse(JSON.stringify(more)) as Fields)
          expect(error !== '', `${error} ${expected.join(', ')}`).toBe(expected.length > 0)
          counts[error === '' ? 'accepted' : 'refused']++
        }
      }),
      { numRuns: runs(150) },
    )
    expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(0)
  })

  const isSeen = (messages: Messages): messages is readonly Message[] =>
    messages.every(({ content }) => Array.isArray(content))
  const seen = broken.flatMap(([number, title, messages, , more]) =>
    number > 0 && !title.includes('for a model') && isSeen(messages)
      ? [[number, title, messages, more] as const]
      : [],
  )
  it.each(seen)('%i: refuse one that %s', (_, __, messages, more) => {
    expect(violated(messages, more['model'] === haiku, more)).not.toEqual([])
  })
})
