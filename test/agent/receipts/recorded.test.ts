import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { digestOf } from '../../../src/agent/receipts/canonical.ts'
import { messagesRecorded, recordedBody } from '../../../src/agent/receipts/recorded.ts'
import {
  type RecordedBody,
  type RecordedRequest,
  recordedRenderer,
} from '../../../src/agent/receipts/recorded-schema.ts'
import { receiptOptionsIn } from '../../../src/agent/receipts/receipt-options.ts'
import { requestOf } from '../../../src/agent/receipts/request.ts'
import type { Event } from '../../../src/events/events.ts'
import { effective } from '../../../src/projections/effective.ts'
import { right } from '../../support/either.ts'
import { logOf } from '../../support/log.ts'

/** A log, and a recorded request made of it. Never edited. */
interface Golden {
  readonly events: readonly Event[]
  readonly recorded: RecordedRequest
  readonly request: unknown
  readonly digest: string
}

const golden = JSON.parse(
  readFileSync(new URL('../../golden/receipts/recorded.json', import.meta.url), 'utf8'),
) as Golden

const requestWith = (recorded: RecordedRequest, events = golden.events) =>
  right(requestOf(effective(logOf(...events)), { renderer: recordedRenderer, recorded }))

/** Requests, the forms of their bodies, and these bodies. Never edited. */
const bodies = JSON.parse(
  readFileSync(new URL('../../golden/receipts/recorded-bodies.json', import.meta.url), 'utf8'),
) as readonly {
  readonly api: string
  readonly request: Parameters<typeof recordedBody>[0]
  readonly strings: readonly number[]
  readonly form: RecordedBody
  readonly body: string
}[]

describe('a recorded request', () => {
  it.each(bodies)('has the body that was sent over $api, to the byte', ({ request, strings, form, body }) => {
    expect(JSON.stringify(recordedBody(request, strings, form))).toBe(body)
  })

  it('is made as it was, to the byte', () => {
    const { recorded, request, digest } = golden
    const options = { renderer: recordedRenderer, repairs: {}, recorded }
    expect(right(receiptOptionsIn({ position: 0, digest, options }))).toEqual(options)
    const made = requestWith(recorded)
    expect(JSON.stringify(made, undefined, 2)).toBe(JSON.stringify(request, undefined, 2))
    expect(digestOf(made)).toBe(digest)
  })

  it('leaves out what the history does not show, whatever its receipt says', () => {
    const { messages } = requestWith({
      base: 99,
      keep: 3,
      messages: [
        { items: [99] },
        { role: 'user', content: [[0, 7], { text: ['\n', [0, 0, 5, 10_000], [1, 3, 0, 1]] }] },
      ],
      cache: [{ path: ['messages', 7, 'content', 'x'], value: {} }],
    })
    // Its base is missing, so nothing of it is known.
    expect(messages).toEqual([])
    expect(requestWith({ messages: [{ items: [99] }] }).messages).toEqual([{ role: 'user', content: [] }])
  })

  it('builds on earlier requests only', () => {
    const circle: RecordedRequest = { base: 3, keep: 1, messages: [{ items: [1] }] }
    expect(messagesRecorded(circle, () => circle)).toBeUndefined()
    const first: RecordedRequest = { messages: [{ items: [0] }, { items: [1] }] }
    expect(messagesRecorded(circle, () => first)).toEqual([{ items: [0] }, { items: [1] }])
  })
})
