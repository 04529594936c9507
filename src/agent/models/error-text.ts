import { inspect } from 'node:util'

/**
 * Converts a thrown value of any type to text for the model. Never throws, because an exception here would lose the results of other
 * calls.
 */
export const errorText = (error: unknown): string => {
  try {
    // The name and the message may be of any type.
    if (error instanceof Error) return [error.name, error.message].map(String).join(': ')
    return typeof error === 'string' ? error : inspect(error)
  } catch {
    return plainly(error)
  }
}

const plainly = (error: unknown): string => {
  try {
    return inspect(error, { customInspect: false })
  } catch {
    return 'What was thrown cannot be shown.'
  }
}
