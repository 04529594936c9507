import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { run } from '../../result/fallible.ts'
import { bytesText, type DiagnosisFinding, findingOf, roundTrips, roundTripsText } from '../diagnosis.ts'
import type { Connection } from './connection.ts'
import { appendLimit, type BatchAppendResp, kindOf } from './responses.ts'
import { appendRequest, type ProposedEvent } from './requests.ts'
import type { Reads } from './reads.ts'
import { appendMargin, type ConnectionSettings } from './settings.ts'

/** Seconds until the database drops the events of a scratch stream. */
const scratchAge = 60
/** Maximum size of an append on a server with default settings, in bytes. */
const usualLimit = 1024 * 1024
/**
 * Clock difference above which the times of events are visibly out of order, in milliseconds. Above `harmfulDifference`, the age of
 * blobs is meaningless. Small differences are ignored, because clocks never agree exactly.
 */
const visibleDifference = 2_000
const harmfulDifference = 3_600_000
/** Median append time above which the database is considered slow, in milliseconds. Meant for a database in the same building. */
const slow = 100

/**
 * Checks properties that only an append can reveal: the append limit, the clocks, the round trips. Writes to a stream created for this
 * purpose. Throws if the server refuses the append.
 */
export const scratchFindings = async (
  connection: Connection,
  reading: Reads,
): Promise<readonly DiagnosisFinding[]> => {
  const stream = `palimpsest-doctor-${randomUUID()}`
  const { send, end } = await sender(connection)
  const append = async (event: ProposedEvent, to = stream): Promise<BatchAppendResp> => {
    const response = await send(to, event)
    const error = response.getError()
    if (error && appendLimit(error) === undefined)
      throw new Error(kindOf(error) === 'AccessDenied' ? denied : error.getMessage())
    return response
  }
  try {
    await append(eventOf('$metadata', JSON.stringify({ $maxAge: scratchAge })), `$$${stream}`)
    const limit = await limitFinding(connection.settings, append)
    const sent = Date.now()
    await append(eventOf('Scratch', '{}'))
    const answered = Date.now()
    const range = { stream, from: Number.MAX_SAFE_INTEGER, direction: 'backwards', limit: 1 } as const
    const last = await run(reading.whatIsThere(range))
    const created = E.isRight(last) ? last.right[0]?.created : undefined
    const appends = await roundTrips(() => append(eventOf('Scratch', '{}')))
    const readTimes = await roundTrips(() => run(reading.whatIsThere(range)))
    return [
      limit,
      clockFinding(created, sent, answered),
      findingOf(
        'round trips',
        appends.median > slow ? 'warning' : 'ok',
        `a read: ${roundTripsText(readTimes)}; an append: ${roundTripsText(appends)}${appends.median > slow ? '. Every command waits for both: run the workers closer to the database, or move the database to a faster disk' : ''}`,
      ),
    ]
  } finally {
    end()
  }
}

const denied =
  'access denied: name a user who may write, in the URL or in PALIMPSEST_ESDB_USER and PALIMPSEST_ESDB_PASSWORD'

const eventOf = (type: string, data: string | Uint8Array): ProposedEvent => ({
  id: randomUUID(),
  type,
  data,
  metadata: '{}',
})

/** Opens a call that sends appends sequentially and returns the server's responses unchanged. */
const sender = (
  connection: Connection,
): Promise<{
  readonly send: (stream: string, event: ProposedEvent) => Promise<BatchAppendResp>
  readonly end: () => void
}> =>
  connection.once(async (client) => {
    const call = client.batchAppend(...connection.callArguments(Infinity))
    const end = connection.tracked(() => call.cancel())
    let settle: (answer: BatchAppendResp | Error) => void = () => undefined
    let failure: Error | undefined
    call.on('data', (response: BatchAppendResp) => settle(response))
    call.on('error', (error) => {
      failure = error
      settle(error)
    })
    const send = async (stream: string, event: ProposedEvent): Promise<BatchAppendResp> => {
      const answered = new Promise<BatchAppendResp | Error>((resolve) => {
        settle = resolve
      })
      if (failure) throw failure
      call.write(appendRequest(randomUUID(), stream, 'any', [event]))
      const answer = await within(connection.settings.attempt, answered)
      if (answer instanceof Error) throw answer
      return answer
    }
    return { send, end }
  })

/** Waits for the result of a promise; throws if it takes longer than `ms` milliseconds. */
export const within = async <A>(ms: number, promise: Promise<A>): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1000} s`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Tries the largest append that the URL allows, then one that a server with default settings refuses, to find the server's limit. */
const limitFinding = async (
  { maxAppendBytes: assumed }: ConnectionSettings,
  append: (event: ProposedEvent) => Promise<BatchAppendResp>,
): Promise<DiagnosisFinding> => {
  const check = 'append limit'
  const limitAt = async (bytes: number): Promise<number | undefined> => {
    const error = (await append(eventOf('Scratch', Buffer.alloc(bytes - '{}'.length)))).getError()
    return error && appendLimit(error)
  }
  const limit = await limitAt(assumed)
  if (limit !== undefined)
    return findingOf(
      check,
      'problem',
      `the server accepts ${limit} bytes in one append, fewer than the ${assumed} assumed: add maxAppendBytes=${Math.max(limit - appendMargin, 1)} to the URL, or raise MaxAppendSize on the server`,
    )
  const usual = await limitAt(Math.max(usualLimit, assumed) + appendMargin)
  return findingOf(
    check,
    'ok',
    usual === undefined
      ? `more than ${bytesText(Math.max(usualLimit, assumed))}; ${assumed} bytes are used, and maxAppendBytes in the URL may raise that`
      : `${usual} bytes; ${assumed} are used`,
  )
}

const clockFinding = (created: number | undefined, sent: number, answered: number): DiagnosisFinding => {
  const check = 'clock'
  if (created === undefined)
    return findingOf(check, 'warning', 'the event written to compare the clocks cannot be read: try again')
  // The event was written at some time between the request and the response.
  const difference = created - (sent + answered) / 2
  const size = Math.abs(difference)
  const text = `the server's clock is ${(size / 1000).toFixed(1)} s ${difference < 0 ? 'behind' : 'ahead of'} this machine's`
  if (size <= visibleDifference) return findingOf(check, 'ok', text)
  return findingOf(
    check,
    size > harmfulDifference ? 'problem' : 'warning',
    `${text}: synchronize both clocks (NTP); times in events come from the writers, the age of large content from the server`,
  )
}
