import { secretsIn } from '../events/secrets.ts'
import { type Finding, finding } from './diagnosis.ts'

/** Whether a `Configured` holds a secret, as stored: versions before recorded parameters as they were. */
export const holdsSecret = (data: string): boolean => {
  try {
    return secretsIn((JSON.parse(data) as { readonly parameters?: unknown }).parameters).size > 0
  } catch {
    // That an event cannot be read is verify's to say.
    return false
  }
}

/**
 * What is known of secrets in a store.
 *
 * @param conversations those that hold one
 * @param bound what was looked at, if not everything, in brackets
 */
export const secretsFinding = (conversations: ReadonlySet<string>, bound = ''): Finding =>
  conversations.size === 0
    ? finding('secrets', 'ok', `no recorded parameter is known to hold one${bound}`)
    : finding(
        'secrets',
        'warning',
        `the parameters that were recorded hold a secret in ${[...conversations].join(', ')}${bound}: an earlier version wrote it; make it invalid where it came from`,
      )
