import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'

/** Point from which a paged list continues: the build of the index, and the sort values of the last entry returned. */
export interface Cursor {
  readonly build: string
  readonly after: readonly (string | number)[]
}

export const cursorText = ({ build, after }: Cursor): string =>
  Buffer.from(JSON.stringify([build, ...after])).toString('base64url')

/** Error for a cursor that this index did not issue, or that was issued before the index was rebuilt. */
const stale = invalidInput(
  'cursor',
  'does not belong to this list, or the index was rebuilt in the meantime: start the list again',
)

/** Decodes a cursor that this build of the index issued. Returns the sort values after which the list continues, or `InvalidInput`. */
export const cursorOf = (
  text: string,
  build: string,
  length: number,
): E.Either<InvalidInput, readonly (string | number)[]> => {
  try {
    const given = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown
    if (!Array.isArray(given) || given[0] !== build || given.length !== length + 1) return E.left(stale)
    const after = given.slice(1) as unknown[]
    const isOurs = after.every((one) => typeof one === 'string' || Number.isSafeInteger(one))
    return isOurs ? E.right(after as (string | number)[]) : E.left(stale)
  } catch {
    return E.left(stale)
  }
}
