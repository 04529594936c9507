import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'

/** URL of a store, and the path of the keys with which it is sealed. */
export interface SealedUrl {
  readonly url: string
  readonly keys: string | undefined
}

const parameter = /([?&])seal=([^&]*)(&|$)/

/** Takes the parameter `seal` from the URL of a store of any kind. */
export const splitSeal = (given: string): E.Either<InvalidInput, SealedUrl> => {
  const found = parameter.exec(given)
  if (!found) return E.right({ url: given, keys: undefined })
  const [whole, before = '', coded = '', after = ''] = found
  const keys = decoded(coded)
  if (keys === undefined || keys === '')
    return E.left(
      invalidInput('url', 'seal must be the path of a file or a folder of keys, like ?seal=keys.db'),
    )
  const rest =
    given.slice(0, found.index) + (after === '&' ? before : '') + given.slice(found.index + whole.length)
  return E.right({ url: rest, keys })
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
