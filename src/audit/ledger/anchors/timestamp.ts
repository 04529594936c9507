import { randomBytes } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { invalidInput } from '../../../events/errors.ts'
import { unwrap, type Fallible, task } from '../../../result/fallible.ts'
import { longestTimer } from '../../../result/timers.ts'
import { toError } from '../../../result/typed-error.ts'
import type { Anchor } from '../anchors.ts'
import { certificatesIn } from '../certificates.ts'
import { type AnchorFailed, anchorFailed } from '../errors.ts'
import { type SignedNote, noteText, parseNote } from '../notes.ts'
import {
  checkTimestamp,
  nonceBytes,
  timestampLine,
  timestampLines,
  timestampParser,
  timestampRequest,
} from '../timestamp.ts'
import { bytesOf } from './bytes.ts'
import { causeOf } from './cause.ts'

export interface TimestampOptions {
  /** URL to which requests are posted. */
  readonly url: string
  /** Certificates in PEM: the authority's certificates or their issuers' certificates. */
  readonly trust: string
  /** Milliseconds to wait for an answer. Default 30,000. */
  readonly timeout?: number | undefined
}

/** Maximum difference between the authority's clock and the local clock, in milliseconds. */
const tolerance = 300_000

/**
 * Returns an anchor that obtains a signed timestamp from an authority (RFC 3161), which proves that the checkpoint existed at that
 * time. The authority stores nothing; the store records its reply as a signature line of the checkpoint. Needs the package
 * `@sigstore/core`. Throws `InvalidInput` if the URL, the certificates or the timeout are invalid.
 */
export const timestampAnchor = ({ url, trust, timeout = 30_000 }: TimestampOptions): Anchor => {
  if (!(Number.isSafeInteger(timeout) && timeout >= 1 && timeout <= longestTimer))
    throw toError(invalidInput('timeout', `must be milliseconds, from 1 to ${longestTimer}`))
  const trusted = certificatesIn(trust)
  if (E.isLeft(trusted)) throw toError(trusted.left)
  const name = nameOf(url)
  const failed = (problem: string, cause?: unknown): AnchorFailed => anchorFailed(name, problem, cause)
  const noted = (checkpoint: string): E.Either<AnchorFailed, SignedNote> =>
    pipe(
      parseNote(checkpoint),
      E.mapLeft((error) => failed('received something that is not a checkpoint', error)),
    )
  const checked = (reply: Buffer, text: string) =>
    pipe(checkTimestamp(reply, text, trusted.right), TE.mapLeft(failed))

  async function* put({ checkpoint }: { readonly checkpoint: string }): Fallible<AnchorFailed, string> {
    // Without the package, the authority's reply could not be checked.
    yield* unwrap(pipe(timestampParser, TE.mapLeft(failed)))
    const { text, signatures } = yield* unwrap(noted(checkpoint))
    // With a first byte from 0x40 to 0x7f, the number is not negative and its DER form needs no leading zero byte.
    const nonce = randomBytes(nonceBytes)
    nonce[0] = 0x40 | ((nonce[0] ?? 0) & 0x3f)
    const asked = Date.now()
    const reply = yield* unwrap(
      TE.tryCatch(
        () => answerOf(url, timestampRequest(text, nonce), timeout),
        (error) => failed(`does not answer (${causeOf(error)})`, error),
      ),
    )
    const stamp = yield* unwrap(checked(reply, text))
    if (stamp.nonce !== nonce.readBigUInt64BE())
      return yield failed('answered another request: its nonce is not the one that was sent')
    const time = stamp.time.getTime()
    if (time < asked - tolerance || time > Date.now() + tolerance)
      return yield failed(
        `reports the time ${stamp.time.toISOString()}: its clock or the local clock is wrong`,
      )
    return noteText({ text, signatures: [...signatures, timestampLine(name, reply)] })
  }

  async function* verify(checkpoint: string, recorded: string): Fallible<AnchorFailed, string> {
    const { text, signatures } = yield* unwrap(noted(checkpoint))
    const own = timestampLines({ text, signatures }).filter((line) => line.name === name)
    if (own.length === 0) return yield failed('has signed no timestamp for a checkpoint that it received')
    for (const { signature } of own) {
      const { time } = yield* unwrap(checked(signature, text))
      // The authority's clock and the recorder's clock were compared when the timestamp was obtained.
      if (!(Math.abs(time.getTime() - Date.parse(recorded)) <= 2 * tolerance))
        return yield failed(
          `signed a checkpoint at ${time.toISOString()}, but the store recorded it at ${recorded}: it was recorded again later with a different time`,
        )
    }
    return noteText({ text, signatures: signatures.filter((line) => !own.includes(line)) })
  }

  return {
    name,
    held: () => TE.right([]),
    put: (anchoring) => task(() => put(anchoring)),
    verify: (checkpoint, recorded) => task(() => verify(checkpoint, recorded)),
  }
}

/** Returns the name for an authority's signature lines: the URL's host and path, without secrets and safe in a shell command. */
const nameOf = (url: string): string => {
  const { host, pathname } = URL.parse(url) ?? {}
  if (host === undefined || host === '')
    throw toError(invalidInput('url', 'must be the URL of a timestamp authority'))
  return `${host}${pathname ?? ''}`.replace(/\/+$/, '').replaceAll('+', '%2B').replaceAll("'", '%27')
}

const answerOf = async (url: string, body: Buffer, timeout: number): Promise<Buffer> => {
  const signal = AbortSignal.timeout(timeout)
  const headers = { 'content-type': 'application/timestamp-query' }
  const answer = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body), signal })
  if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`)
  return bytesOf(answer)
}
