import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countTokens } from '../../src/agent/context/tokens/tokens.ts'
import type { ConversationEvent, Event } from '../../src/events/events.ts'
import { openStore } from '../../src/index.ts'
import { effective } from '../../src/projections/effective.ts'
import { type Log, path } from '../../src/projections/path.ts'
import { atEnd } from '../support/at-end.ts'
import { storedForked } from '../support/catalogue/stored.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'
import { right } from '../support/either.ts'
import { assistant, blocksOf, logOf, user } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { type Origin, present, sessionFile } from '../support/sessions.ts'

type Step = (position: number) => Event

const words = fc.nat(400).map((length) => 'word '.repeat(length + 1))
const counts = fc.record({ input_tokens: fc.integer({ min: 1, max: 3_000 }), output_tokens: fc.nat(500) })
/** Replies; some of them `inParts`, each continuing the one before it. */
const replies = (inParts: boolean) =>
  fc
    .tuple(words, inParts ? counts : fc.option(counts), fc.boolean(), fc.nat(3))
    .map(([content, usage, isFinished, id]): Step => (position) => {
      const requestId = inParts && id > 0 ? 'same' : `r${position}`
      const stopReason = isFinished ? 'end_turn' : null
      return assistant(content, { model: 'm', requestId, stopReason, ...(usage && { usage }) })
    })
const said = words.map(
  (content): Step =>
    () =>
      user(content),
)
const rewind = fc.nat(1_000).map((to): Step => (position) => {
  return { type: 'Rewound', data: { to: (to % (position + 1)) - 1 } }
})
const hidden = fc
  .tuple(fc.nat(1_000), fc.nat(1_000), words)
  .map(([one, other, content]): Step => (position) => {
    const [first = 0, last = 0] = [one % position || 0, other % position || 0].toSorted((a, b) => a - b)
    const summary = [{ role: 'user' as const, content: blocksOf(content) }]
    const data = { covers: { first, last }, messagesHidden: 1, tokens: { before: 100, after: 10 } }
    return { type: 'Condensed', data: { ...data, summary, method: 'manual' } }
  })
const logs = (...steps: readonly fc.Arbitrary<Step>[]): fc.Arbitrary<Log> =>
  fc
    .array(fc.oneof(...steps), { minLength: 1, maxLength: 40 })
    .map((all) => logOf(...all.map((step, position) => step(position))))
/** True if a marker may stand between the parts of a reply: no program condenses while it is writing one. */
const isSplit = (log: Log, position: number): boolean => {
  const isPart = ({ type, data }: ConversationEvent): boolean =>
    type === 'MessageAppended' && data.origin?.requestId === 'same'
  const first = log.findIndex(isPart)
  return first >= 0 && log.slice(first, position).some(({ type }) => type === 'Condensed')
}
const cuts = fc.array(fc.nat(40), { maxLength: 2 })

describe('the tokens of the index', () => {
  test('are what countTokens counts, after every event of a log without markers', async () => {
    await fc.assert(
      fc.asyncProperty(logs(said, replies(false), replies(false), rewind), cuts, async (any, places) => {
        const { store, id, log } = await storedForked(any, places)
        const catalogue = catalogueOf(store, undefined)
        const { tokens } = right(await catalogue.outline(id)())
        expect(tokens).toEqual(log.map((_, at) => countTokens(effective(log, at)).total))
        const { estimated } = countTokens(effective(log))
        const about = right(await catalogue.about(id)())
        expect(about.tokens).toBe(tokens.at(-1))
        if (about.isMeasured) expect(estimated).toBe(0)
        await catalogue.close()
      }),
      { numRuns: runs(200) },
    )
  })

  test('are what the API counted after every reply that says so, whatever markers hid', async () => {
    await fc.assert(
      fc.asyncProperty(logs(said, replies(true), replies(false), hidden), cuts, async (any, places) => {
        const { store, id, log } = await storedForked(any, places)
        const catalogue = catalogueOf(store, undefined)
        const { tokens } = right(await catalogue.outline(id)())
        for (const { type, position, data } of log) {
          if (type !== 'MessageAppended' || !data.origin?.usage || data.origin.stopReason === null) continue
          if (isSplit(log, position)) continue
          expect(tokens[position]).toBe(countTokens(effective(log, position)).total)
        }
        await catalogue.close()
      }),
      { numRuns: runs(200) },
    )
  })

  const sessions: readonly (readonly [Origin, string])[] = [
    ['sample', 'claude-code/session-with-compaction.jsonl'],
    ['sample', 'claude-code/tool-heavy.jsonl'],
    ['real', 'claude-code/session-with-compaction.jsonl'],
    ['real', 'pi/before-compaction.jsonl'],
  ]
  test.each(present(sessions))('are close to countTokens after a marker, too: %s %s', async (...session) => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const { conversations } = await store.importSession(sessionFile(...session))
    while (!(await store.catalogue.find()).isComplete);
    for (const { id } of conversations) {
      const { tokens } = await store.catalogue.outline(id)
      const log: ConversationEvent[] = []
      for await (const event of store.conversation(id).events()) log.push(event)
      const marked = log.flatMap(({ type, position }) =>
        type === 'Condensed' ? [position, position + 1] : [],
      )
      const some = log.flatMap(({ position }) => (position % 9 === 0 ? [position] : []))
      for (const at of [...marked, ...some, log.length - 1].filter((one) => path(log, one).length > 0)) {
        const { total } = countTokens(effective(log, at))
        expect(Math.abs((tokens[at] ?? total) - total)).toBeLessThanOrEqual(0.1 * total)
      }
    }
  })
})
