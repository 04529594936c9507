import type { Conversation } from '../../api/promises.ts'
import type { Block } from '../../events/block-types.ts'
import { formIn } from '../../agent/receipts/made-again.ts'
import type { ModelCall } from '../../agent/receipts/calls.ts'
import { messageOf } from '../../events/events.ts'
import { counterfactualActor } from '../../events/worker-events.ts'
import { isTyped } from '../../result/typed-error.ts'
import { isCall } from '../../agent/turn/calls/open-calls.ts'
import type { WaitingCall } from '../../agent/turn/stream/turn-event.ts'
import type { TurnOptions } from '../../agent/turn/options.ts'
import type { Prices } from '../../agent/models/prices.ts'
import { canonicalText } from '../canonical.ts'
import { paidCallsIn } from '../paid-calls.ts'
import { type UsageTotals, totalsOf, sumSpent } from '../../agent/context/tokens/usage-totals.ts'

/** Kind of sample: with the agent's request (`agent`), with the recorded request (`control`), or a free run of the agent (`free`). */
export type SampleKind = 'agent' | 'control' | 'free'

/** A new model reply to the recorded call, in a labelled fork. */
export interface Sample {
  readonly kind: SampleKind
  /** Id of the fork. */
  readonly conversation: string
  /** Position of the first reply in the fork; absent if there is no reply. */
  readonly position?: number
  readonly content: readonly Block[]
  readonly stopReason?: string | null
  /** True if the request is identical to the recorded one, byte for byte. */
  readonly isSameRequest: boolean
  /** True if the reply and the recorded reply contain the same tool calls: names and canonical inputs, in any order. */
  readonly isSameCalls: boolean
  /** Outcome of the turn, or the `_tag` of the error that ended it. */
  readonly ended: string
  /** Number of replies in the fork, and the calls at which a free run stopped because the log has no results for them. */
  readonly replies: number
  readonly waiting: readonly WaitingCall[]
  readonly spent: UsageTotals
}

export const counterfactualKind = 'palimpsest/counterfactual'

interface Sampling {
  readonly chat: Conversation
  readonly call: ModelCall
  readonly recorded: readonly Block[]
  readonly prices: Prices
}

/** Runs a turn in a labelled fork that starts from the history of a call. The fork is not deleted afterwards. */
export const runSample = async (
  { chat, call, recorded, prices }: Sampling,
  kind: SampleKind,
  number: number,
  options: TurnOptions,
): Promise<Sample> => {
  const fork = await forked(chat, call, kind, number)
  let ended = ''
  let waiting: readonly WaitingCall[] = []
  try {
    const turned = await fork.turn(options)
    ended = turned.ended
    waiting = turned.waiting
  } catch (error) {
    if (!isTyped(error)) throw error
    ended = error._tag
  }
  const own: ModelCall[] = []
  let end = call.receipt.position
  for await (const one of fork.calls()) if (one.position > end && one.kind === 'reply') own.push(one)
  const [first] = own
  let content: readonly Block[] = []
  if (first)
    for await (const event of fork.events({ from: first.position, to: first.position }))
      if (event.type === 'MessageAppended') content = messageOf(event).content
  const { calls } = await paidCallsIn(fork.events())
  return {
    kind,
    conversation: fork.id,
    ...(first && { position: first.position, stopReason: first.origin.stopReason ?? null }),
    content,
    isSameRequest:
      first !== undefined && (await requestText(fork, first)) === (await requestText(chat, call)),
    isSameCalls: first !== undefined && callsIn(content) === callsIn(recorded),
    ended,
    replies: own.length,
    waiting,
    spent: sumSpent(calls.map((one) => totalsOf(one, prices))),
  }
}

/** Returns what a receipt's digest covers, as text: the digests themselves have the keys of their own histories. */
const requestText = async (from: Conversation, call: ModelCall): Promise<string> => {
  const { system, tools, messages } = (await from.sent(call)).request
  return canonicalText([system, tools, messages, formIn(call.receipt)].map((part) => part ?? null))
}

const callsIn = (content: readonly Block[]): string =>
  content
    .filter(isCall)
    .map(({ name, input }) => `${name} ${canonicalText(input)}`)
    .toSorted()
    .join('\n')

const longestId = 200

/** Creates a fork for a sample. Actor, title, link and note identify it as a sample, and the actor keeps workers from answering it. */
const forked = async (
  chat: Conversation,
  { number: call, position, receipt }: ModelCall,
  kind: SampleKind,
  number: number,
): Promise<Conversation> => {
  for (let attempt = number; ; attempt++) {
    const name = `.call-${call}-${kind}-${attempt}`
    try {
      const fork = await chat.fork(`${chat.id.slice(0, longestId - name.length)}${name}`, {
        at: receipt.position,
        actor: { kind: counterfactualActor, id: kind },
      })
      await fork.note({ kind: 'title', data: `counterfactual (${kind}) of call ${call} of ${chat.id}` })
      await fork.note({ kind: counterfactualKind, data: { of: chat.id, call, position, kind } })
      await fork.link({ relation: 'counterfactual-of', conversation: chat.id, position })
      return fork
    } catch (error) {
      if (!isTyped(error) || error._tag !== 'ConversationExists') throw error
    }
  }
}
