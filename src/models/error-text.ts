import { inspect } from 'node:util'

/** What was thrown, as the model is told it. It may be anything: what cannot be printed must not lose what other calls came to. */
export const errorText = (error: unknown): string => {
  try {
    // They may be of any type.
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
