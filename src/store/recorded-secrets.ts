import { secretsIn } from '../events/secrets.ts'
import { type DiagnosisFinding, finding } from './diagnosis.ts'

/** Whether a stored `Configured` contains a secret: earlier versions recorded parameters as they were. */
export const holdsSecret = (data: string): boolean => {
  try {
    return secretsIn((JSON.parse(data) as { readonly parameters?: unknown }).parameters).size > 0
  } catch {
    // Unreadable events are for verify to report.
    return false
  }
}

/**
 * What is known about secrets in a store.
 *
 * @param conversations those that contain one
 * @param bound what was searched, if not everything, in brackets
 */
export const secretsFinding = (conversations: ReadonlySet<string>, bound = ''): DiagnosisFinding =>
  conversations.size === 0
    ? finding('secrets', 'ok', `no recorded parameter is known to contain one${bound}`)
    : finding(
        'secrets',
        'warning',
        `the recorded parameters contain a secret in ${[...conversations].join(', ')}${bound}: an earlier version wrote it; revoke it where it was issued`,
      )
