import { START } from '../src/events/events.ts'
import { streamOf } from '../src/events/ids.ts'
import { completeEnvelope, encodeChain } from '../src/conversation/writing/encode.ts'
import { turnLog } from '../src/conversation/beside/turn-log.ts'
import { orThrow, run } from '../src/result/fallible.ts'
import type { EventStore } from '../src/store/port.ts'
import { messageAt } from './messages.ts'

const actor = { kind: 'bench' }
/** How many conversations are written at once: the store shares transactions among them. */
const atOnce = 1_000
/** As many workers as have given turns. */
const workers = Array.from({ length: 4 }, (_, n) => `worker-${n}`)

const said = (index: number) => {
  const { role, content } = messageAt(index)
  const origin = { model: 'claude-opus-5-5', stopReason: 'end_turn' }
  const data = { role, content: [{ type: 'text' as const, text: content }] }
  return { type: 'MessageAppended' as const, data: { ...data, ...(role === 'assistant' && { origin }) } }
}

/** One message that asks for an answer; unless it is still open, a claim and a reply. */
const write = async (store: EventStore, n: number, isOpen: boolean): Promise<void> => {
  const id = `${isOpen ? 'open' : 'served'}-${n}`
  const envelope = () => completeEnvelope({}, actor)
  const stream = streamOf(id)
  const asked = await orThrow(encodeChain(id, null, [said(0)], { ...envelope(), answer: true }))
  await orThrow(store.append({ stream, events: asked.events, expected: -1, repeat: 'none' }))
  if (isOpen) return
  const worker = workers[n % workers.length] ?? ''
  const begun = { type: 'TurnsBegun', data: { at: START } } as const
  const claim = { step: 'conversation@0', worker, attempt: 1, at: 0 }
  await orThrow(run(turnLog(store, actor, id).append([begun, { type: 'TurnClaimed', data: claim }], START)))
  const reply = await orThrow(encodeChain(id, asked.hash, [said(1)], envelope()))
  await orThrow(store.append({ stream, events: reply.events, expected: 0, repeat: 'none' }))
}

/** Writes conversations that were answered, as workers leave them, and among them, evenly, some that still await an answer. */
export const fillServedStore = async (
  store: EventStore,
  { served, open }: { readonly served: number; readonly open: number },
): Promise<void> => {
  const all = served + open
  const isOpen = (n: number): boolean => Math.floor(((n + 1) * open) / all) > Math.floor((n * open) / all)
  for (let from = 0; from < all; from += atOnce)
    await Promise.all(
      Array.from({ length: Math.min(atOnce, all - from) }, (_, index) =>
        write(store, from + index, isOpen(from + index)),
      ),
    )
}
