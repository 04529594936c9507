import { streamOf } from '../src/events/ids.ts'
import { completeEnvelope, encodeChain } from '../src/conversation/writing/encode.ts'
import { orThrow } from '../src/result/fallible.ts'
import type { EventStore } from '../src/store/port.ts'

const syllables = 'ba con der fi gra ho in ju kel lo mi nor op pa qui ra str ti un ve wex yo za'.split(' ')

/** Words as a language has them: some are in nearly every text, most in few. */
export const textOf = (seed: number, length: number): string => {
  let state = (seed * 2_654_435_761 + 1) >>> 0
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  let text = ''
  while (text.length < length) {
    const rank = Math.floor(20_000 ** (next(1_000_000) / 1_000_000))
    text += `${syllables[rank % 23]}${syllables[Math.floor(rank / 23) % 23]}${syllables[Math.floor(rank / 529) % 23]} `
  }
  return text.slice(0, length)
}

/** Writes conversations `c0`, `c1`, … of so many messages of so many characters; each begins with its number. */
export const fillConversations = async (
  store: EventStore,
  {
    conversations,
    messages,
    length,
  }: { readonly conversations: number; readonly messages: number; readonly length: number },
): Promise<void> => {
  const write = async (n: number): Promise<void> => {
    const events = Array.from({ length: messages }, (_, index) => {
      const text = `Message ${index} of conversation ${n}. ${textOf(n * messages + index, length)}`
      const role = index % 2 === 0 ? ('user' as const) : ('assistant' as const)
      return { type: 'MessageAppended' as const, data: { role, content: [{ type: 'text' as const, text }] } }
    })
    const envelope = completeEnvelope({}, { kind: 'bench' })
    const chain = await orThrow(encodeChain(`c${n}`, null, events, envelope))
    await orThrow(
      store.append({ stream: streamOf(`c${n}`), events: chain.events, expected: -1, repeat: 'none' }),
    )
  }
  for (let from = 0; from < conversations; from += 500)
    await Promise.all(
      Array.from({ length: Math.min(500, conversations - from) }, (_, index) => write(from + index)),
    )
}

/** Milliseconds of the median of some runs, after one that is not counted. */
export const medianOf = async (runs: number, work: () => Promise<unknown>): Promise<number> => {
  await work()
  const times: number[] = []
  for (let n = 0; n < runs; n++) {
    const began = performance.now()
    await work()
    times.push(performance.now() - began)
  }
  return times.toSorted((one, other) => one - other)[Math.floor(runs / 2)] ?? 0
}
