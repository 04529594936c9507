import { effective } from '../../../core.ts'
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

/** Returns all model calls, without the receipts in their origins. */
export const callList = (file: EmbeddedFile) => ({
  items: callsIn(file).map(({ origin, ...call }) => {
    const { context: _, ...said } = origin
    return { ...call, origin: said }
  }),
})

/** Kinds of findings that do not contradict the digest in a receipt. */
const beside: ReadonlySet<string | undefined> = new Set([undefined, 'repairs', 'container'])

/** Returns a model call with its request; undefined if the file does not include this call. */
export const findSentCall = (file: EmbeddedFile, name: string) => {
  const facts = file.calls?.[name]
  const call = facts && callsIn(file).find((one) => nameOf(one) === name)
  const sent = call && requestOfCall(call, (position) => effective(file.events, position))
  if (!facts || !call || !sent) return undefined
  if ('isMissing' in call) {
    const { isMissing, ...its } = call
    return { ...its, ...sent, ...facts, state: isMissing ? 'missing' : 'reconstructed' }
  }
  const isSame = beside.has(facts.finding?.kind)
  return {
    ...call,
    ...sent,
    ...facts,
    isSame,
    state: isSame ? 'verified' : facts.finding?.kind === 'erased' ? 'erased' : 'differs',
  }
}
