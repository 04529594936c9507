import { secretsIn } from '../events/secrets.ts'
import { type DiagnosisFinding, findingOf } from './diagnosis.ts'

/** Reports whether the data of a stored `Configured` event contains a secret. Earlier versions recorded parameters unchanged. */
export const holdsSecret = (data: string): boolean => {
  try {
    return secretsIn((JSON.parse(data) as { readonly parameters?: unknown }).parameters).size > 0
  } catch {
    // `verify` reports unreadable events.
    return false
  }
}

/**
 * Returns the finding about secrets in a store.
 *
 * @param conversations ids of the conversations that contain a secret
 * @param bound description of the part that was searched, in brackets, if not everything was
 */
export const secretsFinding = (conversations: ReadonlySet<string>, bound = ''): DiagnosisFinding =>
  conversations.size === 0
    ? findingOf('secrets', 'ok', `no recorded parameter is known to contain a secret${bound}`)
    : findingOf(
        'secrets',
        'warning',
        `the recorded parameters contain a secret in ${[...conversations].join(', ')}${bound}: an earlier version wrote it; revoke it where it was issued`,
      )
