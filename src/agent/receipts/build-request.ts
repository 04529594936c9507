import * as E from 'fp-ts/lib/Either.js'
import { check } from '../../events/check.ts'
import { configurationOf, type Effective } from '../../projections/effective.ts'
import { wellFormed } from '../../projections/render/renderer.ts'
import type { SentRequest } from './canonical.ts'
import { type SentContainer, withContainer } from './containers.ts'
import type { ModelCall } from './calls.ts'
import type { ModelRequest } from '../models/model.ts'
import { requestWith } from '../models/request.ts'
import { receiptOptionsIn } from './receipt-options.ts'
import { alongSummary, summaryOptionsSchema } from './summary-request.ts'

interface Along {
  readonly container?: SentContainer | undefined
  /** Model to use if the conversation has no configured model. */
  readonly named?: string | undefined
}

/** Builds the complete request from rendered content, adding the configured model and parameters. */
export const buildRequest = (
  now: Effective,
  sent: SentRequest,
  { container, named = '' }: Along,
): ModelRequest => {
  const { model = named, parameters = {} } = configurationOf(now)
  const along = wellFormed({ model, parameters })
  return requestWith(sent, { ...along, parameters: withContainer(along.parameters, container) })
}

/** Remakes the complete request of a call, including the requested beta features, to the extent that its receipt records them. */
export const asSent = (
  { kind, origin, receipt }: ModelCall,
  now: Effective,
  sent: SentRequest,
): ModelRequest & { readonly betas?: readonly string[] } => {
  if (kind === 'reply') {
    const options = receiptOptionsIn(receipt)
    const { betas, container } = E.isRight(options) ? options.right : {}
    return { ...buildRequest(now, sent, { container, named: origin.model }), ...(betas && { betas }) }
  }
  const { chat: _, ...rendered } = sent
  const options = check(summaryOptionsSchema, receipt.options)
  if (E.isLeft(options)) return { model: origin.model ?? '', parameters: {}, ...rendered }
  const { betas } = options.right.along ?? {}
  const { model, parameters } = alongSummary(sent, options.right)
  return { model: model || (origin.model ?? ''), parameters, ...rendered, ...(betas && { betas }) }
}
