import type { ServedEvent } from '../../index.ts'
import { relayBeat, tellable } from '../../server/relay.ts'

/** Where to tell what happens in turns. */
export interface RelayServer {
  readonly url: string
  readonly token: string | undefined
  /** Is told once that the server refuses it. */
  readonly says: (text: string) => void
  /** How long to gather what is told together, in milliseconds. Default 30. */
  readonly pause?: number | undefined
  /** How long nothing is told after a failure, in milliseconds. Default 1,000. */
  readonly rest?: number | undefined
}

/** The variable with the token of the server. */
export const relayTokenName = 'PALIMPSEST_RELAY_TOKEN'

/** Tells a server what happens in turns. Nothing waits for it, and what it cannot tell is lost: it is recorded as well. */
export interface RelayClient {
  readonly begin: (worker: string) => void
  readonly tell: (served: ServedEvent) => void
  readonly end: () => void
}

/** How long the server may take. */
const patience = 5_000
/** While the server is slow, no more is kept than this many events: the oldest go. */
const most = 2_000

export const relaying = ({ url, token, says, pause = 30, rest = 1_000 }: RelayServer): RelayClient => {
  const target = `${url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}/api/v1/relay`
  const headers = {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  const ended = new AbortController()
  let waiting: ServedEvent[] = []
  let worker: string | undefined
  let timer: NodeJS.Timeout | undefined
  let hasSaid = false

  const post = async (events: readonly ServedEvent[]): Promise<boolean> => {
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(patience)])
    try {
      const body = JSON.stringify({ worker, events })
      const { ok, status } = await fetch(target, { method: 'POST', headers, body, signal })
      if (!ok && !hasSaid)
        says(`${url} does not take what the model writes (HTTP ${status}): it is only recorded`)
      hasSaid ||= !ok
      return ok
    } catch {
      return false
    }
  }
  const later = (ms: number): void => {
    timer = setTimeout(() => void send(), ms).unref()
  }
  const send = async (): Promise<void> => {
    timer = undefined
    const events = waiting
    waiting = []
    isSending = true
    const isTaken = await post(events)
    isSending = false
    if (ended.signal.aborted) return
    if (!isTaken) waiting = []
    later(!isTaken ? rest : waiting.length > 0 ? pause : relayBeat)
    isResting = !isTaken
  }
  let isSending = false
  let isResting = false

  return {
    begin: (id) => {
      worker = id
      later(0)
    },
    tell: (served) => {
      // The result of a turn is recorded, and large.
      if (worker === undefined || served.event.type === 'done' || isResting) return
      waiting.push(tellable(served))
      if (waiting.length > most) waiting.shift()
      if (isSending || waiting.length > 1) return
      clearTimeout(timer)
      later(pause)
    },
    end: () => {
      ended.abort()
      clearTimeout(timer)
    },
  }
}
