import { isFields } from '../../events/json.ts'
import { containerIn } from '../../projections/container.ts'
import type { Container } from '../../events/events.ts'
import { configurationOf, type Effective } from '../../projections/effective.ts'
import type { ModelError } from '../models/model.ts'

/** Container of a request: sent with the request, or omitted for the reason in `left`. Receipts record it. */
export interface SentContainer {
  readonly id: string
  readonly left?: 'expired' | 'refused'
}

/** Returns the newest container on the path; undefined if the parameters already name a container. */
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

/** Adds a container's id to the parameters, keeping the other fields of `container`, such as skills. */
export const withContainer = (
  parameters: { readonly [name: string]: unknown },
  sent: SentContainer | undefined,
): { readonly [name: string]: unknown } => {
  if (!sent || sent.left) return parameters
  const { container } = parameters
  return { ...parameters, container: isFields(container) ? { ...container, id: sent.id } : sent.id }
}

/** Reports whether an error means that the API does not accept the container that was sent. */
export const refusesContainer = (error: ModelError, sent: SentContainer | undefined): boolean =>
  sent !== undefined &&
  !sent.left &&
  error._tag === 'ModelFailed' &&
  (error.status === 400 || error.status === 404) &&
  /container/i.test(error.message)
