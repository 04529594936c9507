import type { ServedEvent } from '../../index.ts'
import { relayBeat, tellable } from '../../server/relay.ts'

/** A server that receives the events of turns, and settings for sending them. */
export interface RelayServer {
  readonly url: string
  readonly token: string | undefined
  /** Called once, with a message, if the server rejects events. */
  readonly says: (text: string) => void
  /** Time during which events are collected before they are sent together, in milliseconds. Default 30. */
  readonly pause?: number | undefined
  /** Time after a failure during which nothing is sent, in milliseconds. Default 1,000. */
  readonly rest?: number | undefined
}

/** Name of the environment variable with the server's token. */
export const relayTokenName = 'PALIMPSEST_RELAY_TOKEN'

/**
 * A client that sends the events of turns to a server. Workers do not wait for the server, and events that cannot be sent are dropped:
 * the results are recorded anyway.
 */
export interface RelayClient {
  readonly begin: (worker: string) => void
  readonly tell: (served: ServedEvent) => void
  readonly end: () => void
}

/** Time limit for a request to the server, in milliseconds. */
const patience = 5_000
/** Maximum number of events held while the server is slow. Beyond it, the oldest are dropped. */
const most = 2_000

export const createRelayClient = ({
  url,
  token,
  says,
  pause = 30,
  rest = 1_000,
}: RelayServer): RelayClient => {
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
        says(`${url} rejects the model's output (HTTP ${status}): it is recorded, but not streamed`)
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
      // The result of a turn is large, and it is recorded anyway.
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
