import { isFields } from '../../events/json.ts'
import { containerIn } from '../../projections/container.ts'
import type { Container } from '../../events/events.ts'
import { configurationOf, type Effective } from '../../projections/effective.ts'
import type { ModelError } from '../models/model.ts'

/** Container of a request: sent with it, or omitted for a reason. Receipts keep it. */
export interface SentContainer {
  readonly id: string
  readonly left?: 'expired' | 'refused'
}

/** Returns the newest container on the path, unless the parameters name one themselves. */
export const containerFor = (now: Effective): Container | undefined => {
  const { container } = configurationOf(now).parameters ?? {}
  const isNamed =
    typeof container === 'string' || (isFields(container) && typeof container['id'] === 'string')
  return isNamed ? undefined : containerIn(now.items)
}

export const containerToSend = (now: Effective, time: number): SentContainer | undefined => {
  const found = containerFor(now)
  if (!found) return undefined
  const { id, expires_at: end } = found
  return end !== undefined && Date.parse(end) <= time ? { id, left: 'expired' } : { id }
}

/** Adds a container to parameters; its other fields (skills) stay. */
export const withContainer = (
  parameters: { readonly [name: string]: unknown },
  sent: SentContainer | undefined,
): { readonly [name: string]: unknown } => {
  if (!sent || sent.left) return parameters
  const { container } = parameters
  return { ...parameters, container: isFields(container) ? { ...container, id: sent.id } : sent.id }
}

/** True if an error of the API says that it does not accept the container. */
export const refusesContainer = (error: ModelError, sent: SentContainer | undefined): boolean =>
  sent !== undefined &&
  !sent.left &&
  error._tag === 'ModelFailed' &&
  (error.status === 400 || error.status === 404) &&
  /container/i.test(error.message)
