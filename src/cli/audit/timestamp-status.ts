import * as E from 'fp-ts/lib/Either.js'
import { certificatesIn } from '../../audit/ledger/certificates.ts'
import { checkTimestamp, timestampLines } from '../../audit/ledger/timestamp.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import { fileText } from '../options.ts'
import { checkpointIn } from './checkpoint.ts'

/** The earliest timestamp of a checkpoint that the certificates verify, or the reason why no timestamp was accepted. */
export interface TimestampStatus {
  /** Path of the PEM file with the trusted certificates. */
  readonly tsa: string
  readonly authority?: string
  /** Time of the timestamp, ISO 8601, UTC. */
  readonly time?: string
  readonly problem?: string
}

/**
 * Checks the timestamps of the checkpoint in a bundle's folder against each PEM file of certificates. Returns the earliest valid
 * timestamp for each file.
 */
export const timestampStatuses = async (
  folder: string,
  trusts: readonly string[],
): Promise<readonly TimestampStatus[]> => {
  if (trusts.length === 0) return []
  const parsed = await checkpointIn(folder)
  const note = E.isRight(parsed) ? parsed.right : { text: '', signatures: [] }
  return Promise.all(
    trusts.map(async (tsa) => {
      const trusted = certificatesIn(await fileText(tsa))
      if (E.isLeft(trusted)) throw toError(usage(`--tsa ${tsa} must hold certificates in PEM`))
      let problem = 'the checkpoint has no timestamp'
      let first: TimestampStatus | undefined
      for (const { name, signature } of timestampLines(note)) {
        const checked = await checkTimestamp(signature, note.text, trusted.right)()
        if (E.isLeft(checked)) problem = `${name} ${checked.left}`
        else {
          const time = checked.right.time.toISOString()
          if (first?.time === undefined || time < first.time) first = { tsa, authority: name, time }
        }
      }
      return first ?? { tsa, problem }
    }),
  )
}
