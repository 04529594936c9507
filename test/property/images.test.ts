import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import type { Event } from '../../src/events/events.ts'
import { assistant, logOf, said, text, thinking, toolResult, toolUse, user } from '../support/log.ts'
import { casesOf } from '../support/history-predicates.ts'
import { moments } from '../support/model.ts'
import { imageOf, pictures, png } from '../support/pictures.ts'
import { violations } from '../support/predicates.ts'
import { runs } from '../support/runs.ts'

const image = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(imageOf(png()), imageOf(pictures.gif, 'image/gif')) },
  { weight: 2, arbitrary: fc.constantFrom(imageOf(png(2_400, 20)), imageOf(png(7_000, 9), 'image/webp')) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Block>(
      imageOf(png(9_000, 9)),
      imageOf('AAAA'),
      imageOf(`data:image/png;base64,${png().toString('base64')}`),
      { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
      { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } },
    ),
  },
)

/** A reply, with thinking that was produced under the request before it. */
const reply = (content: readonly Block[], position: number): Event =>
  said('assistant', [thinking(`s${position}`), ...content], {
    context: { position, digest: '0'.repeat(64), options: { renderer: 2 } },
    stopReason: 'end_turn',
  })

/** A conversation about images: the user shows some, and tools find some. */
const logs = fc
  .array(fc.tuple(fc.array(image, { minLength: 1, maxLength: 12 }), fc.boolean(), fc.boolean()), {
    minLength: 5,
    maxLength: 25,
  })
  .map((turns) =>
    turns.reduce<readonly Event[]>((log, [images, isTools, isThinking]) => {
      const at = log.length
      const answer = (content: readonly Block[], position: number): Event =>
        isThinking ? reply(content, position) : assistant(content)
      return isTools
        ? [
            ...log,
            user('Look.'),
            answer([toolUse(`t${at}`)], at),
            user([toolResult(`t${at}`, [text('Found:'), ...images])]),
            answer([text('I see.')], at + 2),
          ]
        : [...log, user([text('See.'), ...images]), answer([text('I see.')], at)]
    }, []),
  )
  .map((events) => logOf(...events))

it('the request at every position of a log with many images passes the eighteen predicates', () => {
  let gaveWay = 0
  fc.assert(
    fc.property(logs, (log) => {
      for (const [at, request] of casesOf(log, moments(log)).entries()) {
        expect(violations(request), `at ${at}`).toEqual([])
        if (request.rendered.repairs.some(({ detail }) => detail.includes('older image'))) gaveWay++
      }
    }),
    { numRuns: runs(30) },
  )
  expect(gaveWay).toBeGreaterThan(0)
})
