import * as E from 'fp-ts/lib/Either.js'
import type { Configuration } from '../../events/events.ts'
import { configurationOf, configure, type Effective } from '../../projections/effective.ts'
import { type Log, path } from '../../projections/path.ts'
import type { ModelCall } from '../../agent/receipts/calls.ts'
import { compareReceipt } from '../../agent/receipts/difference.ts'
import { checkCall, requestIn } from '../../agent/receipts/made-again.ts'
import { hasDigest } from '../../agent/receipts/receipt-digest.ts'
import { receiptOptionsIn } from '../../agent/receipts/receipt-options.ts'
import { requestOf } from '../../agent/receipts/request.ts'
import { requestOptionsOf } from '../../agent/turn/request-options.ts'
import { isConfigured } from '../../agent/turn/prepare.ts'
import { canonicalText } from '../canonical.ts'
import { type RequestMismatch, excerpts, firstBlock, firstField } from './divergence.ts'
import type { AgentSettings } from './replayed-agent.ts'

/**
 * Compares the request that an agent would send for a history with the recorded request of a call. Returns undefined if they are the
 * same.
 */
export const requestDiffers = (
  log: Log,
  now: Effective,
  call: ModelCall,
  { options, settled }: AgentSettings,
  prints: string | undefined,
): RequestMismatch | undefined => {
  const { wanted } = settled
  const inForce = configurationOf(now)
  const isSame = isConfigured(now, wanted)
  const own = isSame ? inForce : { ...inForce, ...wanted }
  const unsaid = fieldUnsaid(log, now, wanted)
  if (unsaid) return unsaid
  const model = firstField(own, inForce, ['model'])
  if (model) return model
  const receipt = receiptOptionsIn(call.receipt)
  const recorded = E.isRight(receipt) ? receipt.right : undefined
  const asked = requestOptionsOf(settled)
  const { form } = recorded ?? {}
  const made = requestOf(
    isSame ? now : configure(now, now.at, own),
    options.client === undefined && form ? { ...asked, cache: undefined, form } : asked,
  )
  if (E.isLeft(made)) return { path: 'form', agent: made.left.message, log: canonicalText(form) }
  if (!hasDigest(call.receipt, now, made.right)) {
    const checked = checkCall(call)
    const sent = E.isRight(checked) ? requestIn(call, now) : checked
    const isKept = E.isRight(sent) && hasDigest(call.receipt, now, sent.right)
    const found = isKept ? firstBlock(made.right, sent.right) : undefined
    if (found) return found
    const differs = recorded && compareReceipt(now, made.right, call.receipt, recorded, prints)
    const place = differs?.kind === 'block' ? differs : undefined
    return {
      path: place?.path ?? 'messages',
      agent: place?.now ?? 'another request',
      log: 'a request that cannot be rebuilt: verify --receipts says why',
    }
  }
  return (
    firstField(own, inForce, ['parameters']) ??
    betasDiffer(options.client && settled.client.betas, recorded?.betas)
  )
}

const betasDiffer = (
  own: readonly string[] | undefined,
  recorded: readonly string[] | undefined,
): RequestMismatch | undefined => {
  if (own === undefined || canonicalText(own) === canonicalText(recorded ?? [])) return undefined
  return { path: 'betas', ...excerpts(canonicalText(own), canonicalText(recorded ?? [])) }
}

/**
 * Finds a system prompt or tools that a turn has configured but the agent does not set. A new conversation of the agent would lack
 * them. Configurations by people are ignored.
 */
const fieldUnsaid = (log: Log, now: Effective, wanted: Configuration): RequestMismatch | undefined => {
  const inForce = configurationOf(now)
  const silent = (['system', 'tools'] as const).filter(
    (field) => wanted[field] === undefined && inForce[field] !== undefined,
  )
  if (silent.length === 0) return undefined
  let earlier: Configuration = {}
  for (const position of path(log, now.at)) {
    const event = log[position]
    if (event?.type !== 'Configured') continue
    const { data } = event
    if (data.model === undefined || data.parameters?.['max_tokens'] === undefined) {
      earlier = data
      continue
    }
    const field = silent.find(
      (name) =>
        canonicalText(data[name]) === canonicalText(inForce[name]) &&
        canonicalText(data[name]) !== canonicalText(earlier[name]),
    )
    return field && { path: field, ...excerpts('', canonicalText(inForce[field])) }
  }
  return undefined
}
