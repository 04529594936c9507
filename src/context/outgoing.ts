import { configurationOf, type Effective } from '../projections/effective.ts'
import { wellFormed } from '../projections/render/clean.ts'
import type { Sent } from './canonical.ts'
import type { ModelRequest } from './model.ts'

/**
 * The whole request: what was rendered of a history, with the model and the parameters that were in force.
 *
 * @param named the model, where none was configured
 */
export const outgoing = (now: Effective, { system, tools, messages }: Sent, named = ''): ModelRequest => {
  const { model = named, parameters = {} } = configurationOf(now)
  return {
    ...wellFormed({ model, parameters }),
    ...(system !== undefined && { system }),
    ...(tools && { tools }),
    messages,
  }
}
