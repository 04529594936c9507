import * as E from 'fp-ts/lib/Either.js'
import { check } from '../../events/check.ts'
import { textBlock } from '../../events/blocks.ts'
import { failuresIn } from '../../agent/models/call-model.ts'
import type { ModelError } from '../../agent/models/model.ts'
import type { Effective } from '../../projections/effective.ts'
import { digestOf } from '../../agent/receipts/canonical.ts'
import {
  alongSummary,
  receiptsOfSummary,
  requestOfSummary,
  summaryOptionsSchema,
} from '../../agent/receipts/summary-request.ts'
import type { PolicyMarker } from '../replay-fit.ts'
import { type RequestMismatch, excerpts, firstBlock, firstField } from './divergence.ts'
import type { AgentSettings, ReplayResponder } from './replayed-agent.ts'

/**
 * Compares the requests of an agent's summarizer with the recorded requests for a summary. The parts of the recorded summary serve as
 * answers. A custom summarizer function is not called, because it may have side effects.
 */
export const summaryDiffers = async (
  now: Effective,
  { data }: PolicyMarker,
  { options, settled, answering }: AgentSettings,
): Promise<RequestMismatch | undefined> => {
  if (!('method' in data) || data.method !== 'model') return undefined
  const { origin, covers } = data
  const isOwn = typeof options.summarizer === 'function'
  if (isOwn !== (origin?.context === undefined))
    return { path: 'summarizer', ...(isOwn ? ownAndBuiltIn : builtInAndOwn) }
  if (isOwn || !origin?.context || !settled.summarizer) return undefined
  const receipts = receiptsOfSummary(origin.context)
  const recorded = receipts.flatMap((receipt) => {
    const checked = check(summaryOptionsSchema, receipt.options)
    return E.isRight(checked) ? [{ receipt, asked: checked.right }] : []
  })
  if (recorded.length < receipts.length) return undefined
  const parts = recorded.at(-1)?.asked.parts ?? []
  // A request that the API refused as too long was repeated with less content.
  let refusals = failuresIn(origin).filter(({ error }) => error === 'ContextExceeded').length
  let part = 0
  let differing: RequestMismatch | undefined
  const answer: ReplayResponder = ({ model, parameters, ...sent }) => {
    const expected = recorded[part]
    if (!expected || differing) return E.left(ended)
    const { chat: _, ...request } = requestOfSummary(now, expected.asked)
    const isSame = digestOf(sent) === digestOf(request)
    if (!isSame && refusals-- > 0) return E.left(refused)
    const along = alongSummary(request, expected.asked)
    differing = isSame
      ? firstField({ model, parameters }, along, ['model', 'parameters'])
      : (firstBlock(sent, request) ?? { path: 'messages', ...excerpts('another request', 'a request') })
    if (differing) return E.left(ended)
    const text = parts[part++]?.text ?? 'The summary that was recorded.'
    return E.right({ content: [textBlock(text)], origin: { stopReason: 'end_turn' } })
  }
  const { summarizer } = settled
  await answering(answer, async () => summarizer({ effective: now, covers }))
  if (differing || part === recorded.length) return differing
  return { path: 'messages', ...excerpts(`${part} requests`, `${recorded.length} requests`) }
}

const ownAndBuiltIn = { agent: 'ran a custom summarizer', log: 'called a model' }
const builtInAndOwn = { agent: 'called a model', log: 'ran a custom summarizer' }

const ended: ModelError = { _tag: 'ModelFailed', message: 'the recorded requests differ' }
const refused: ModelError = { _tag: 'ContextExceeded', message: 'as recorded' }
