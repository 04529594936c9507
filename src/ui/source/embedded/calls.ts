import { effective, full } from '../../../core.ts'
import { createStepReader } from '../../../agent/receipts/call-steps.ts'
import { positionsOf } from '../../../agent/receipts/message-positions.ts'
import { everyCall, type ModelCall, type UnprovenCall } from '../../../agent/receipts/calls.ts'
import { requestOfCall } from '../../../agent/receipts/remade.ts'
import type { EmbeddedFile } from './form.ts'

// Model calls in the format of the server's `calls` and `sent` routes: receipts are read, and requests rebuilt, from the events.

type AnyCall = ModelCall | UnprovenCall

const callsIn = ({ events }: EmbeddedFile): readonly AnyCall[] => {
  const callsOf = everyCall()
  return events.flatMap(callsOf)
}

const nameOf = (call: AnyCall): string => ('number' in call ? String(call.number) : `p${call.position}`)

/** Returns all model calls with their steps, without the receipts in their origins. The file has no facts of turns and no prices. */
export const callList = (file: EmbeddedFile) => {
  const steps = createStepReader()
  for (const event of file.events) steps.take(event)
  const abandoned = new Map(
    full(file.events, { abandoned: true }).flatMap(({ position, status, by }) =>
      status === 'abandoned' && by !== undefined ? [[position, by] as const] : [],
    ),
  )
  const calls = callsIn(file)
  return {
    items: calls.map(({ origin, ...call }, index) => {
      const { context: _, ...said } = origin
      const step = calls[index + 1]?.position === call.position ? undefined : steps.stepAt(call.position)
      const by = abandoned.get(call.position)
      return {
        ...call,
        origin: said,
        ...(step && { step: { ...step, ...(by !== undefined && { abandoned: by }) } }),
      }
    }),
  }
}

/** Kinds of findings that do not contradict the digest in a receipt. */
const beside: ReadonlySet<string | undefined> = new Set([undefined, 'repairs', 'container'])

/** Returns a model call with its request; undefined if the file does not include this call. */
export const findSentCall = (file: EmbeddedFile, name: string) => {
  const facts = file.calls?.[name]
  const call = facts && callsIn(file).find((one) => nameOf(one) === name)
  const sent = call && requestOfCall(call, (position) => effective(file.events, position))
  if (!facts || !call || !sent) return undefined
  const { items } = effective(file.events, 'receipt' in call ? call.receipt.position : call.position - 1)
  const messages = Array.isArray(sent.body?.['messages']) ? sent.body['messages'] : sent.request.messages
  const positions = positionsOf(messages, items)
  if ('isMissing' in call) {
    const { isMissing, ...its } = call
    return { ...its, ...sent, ...facts, positions, state: isMissing ? 'missing' : 'reconstructed' }
  }
  const isSame = beside.has(facts.finding?.kind)
  return {
    ...call,
    ...sent,
    ...facts,
    positions,
    isSame,
    state: isSame ? 'verified' : facts.finding?.kind === 'erased' ? 'erased' : 'differs',
  }
}
