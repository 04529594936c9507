import { check } from '../../events/check.ts'
import { type Workspace, workspaceSchema } from '../../events/events.ts'
import * as E from 'fp-ts/lib/Either.js'
import type { TurnOptions } from './options.ts'

/** Maximum time that a function for the workspace may take, in milliseconds. */
const patience = 10_000

/**
 * Returns the state of the files, to be recorded with a reply or the results of its calls. Returns undefined if the caller's function
 * fails, returns something else, or takes more than ten seconds: what the model has written and the tools have done must be recorded
 * all the same.
 */
export const workspaceNow = async (given: TurnOptions['workspace']): Promise<Workspace | undefined> => {
  if (typeof given !== 'function') return given
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, patience, undefined)
  try {
    const found = await Promise.race([given(), late])
    return E.isRight(check(workspaceSchema, found)) ? found : undefined
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
