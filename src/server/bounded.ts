import type { Conversation, Store } from '../index.ts'
import type { Effective } from '../projections/effective.ts'
import { breath } from '../store/breath.ts'
import { requestError } from './problem.ts'

// Limits for work that reads whole conversations: the size of a conversation, and the number of analyses that run concurrently.

/** Maximum number of events in a conversation that the server analyzes. */
const longest = 100_000
/**
 * Maximum size, in bytes, of a conversation held in memory, measured as the JSON of its events' data. Its analysis takes several times
 * as much memory.
 */
const largest = 64 * 1024 * 1024
/**
 * Lower event limits for analyses whose time grows with the square of the length, so that other requests wait for a few seconds at
 * most.
 */
export const shorter = { cache: 10_000, replay: 5_000, whyAll: 5_000 } as const
/** Maximum number of long analyses that run concurrently. `mostWaiting` limits the number of analyses that wait. */
const atOnce = 2
const mostWaiting = 32

/**
 * Returns a conversation after checking its length. Throws `TooLong`.
 *
 * @param command the command that does the same without a server
 * @param most maximum number of events
 */
export const openBounded = async (
  store: Pick<Store, 'conversation'>,
  id: string,
  command: string,
  most: number = longest,
): Promise<Conversation> => {
  const chat = store.conversation(id)
  const events = (await chat.position()) + 1
  if (events > most)
    throw requestError(
      'TooLong',
      `conversation ${id} has ${events} events, more than the ${most} that this server reads for one request: run palimpsest ${command}`,
      { events, limit: most },
    )
  return chat
}

/**
 * Returns a conversation after checking its length, for analyses that hold the whole conversation in memory. Reading its `events`
 * throws `TooLong` if they are too large.
 */
export const openWhole = async (...asked: Parameters<typeof openBounded>): Promise<Conversation> => {
  const [, , command] = asked
  return eventsWithin(await openBounded(...asked), command, largest)
}

/**
 * Returns a conversation whose `events` throws `TooLong` once the events exceed `most` bytes.
 *
 * @param command the command that does the same without a server
 */
export const eventsWithin = (chat: Conversation, command: string, most: number): Conversation => {
  return {
    ...chat,
    events: async function* (options) {
      const add = bytesOf(chat.id, command, most)
      for await (const event of chat.events(options)) {
        add(JSON.stringify(event.data))
        yield event
      }
    },
  }
}

/** Makes a function that adds the sizes of a conversation's events and throws `TooLong` if the sum exceeds `most` bytes. */
export const bytesOf = (
  id: string,
  command: string,
  most: number,
): ((...texts: readonly string[]) => void) => {
  let bytes = 0
  return (...texts) => {
    for (const text of texts) bytes += Buffer.byteLength(text)
    if (bytes > most)
      throw requestError(
        'TooLong',
        `the events of ${id} are larger than the ${most} bytes that this server reads for one request: run palimpsest ${command}`,
        { limit: most },
      )
  }
}

/** Maximum size of the history in one response, in bytes. Converting it to objects, text and bytes takes ten times as much memory. */
export const largestAnswer = 16 * 1024 * 1024

/**
 * Reads the effective history of a conversation at a position and checks its size before a response is built from it. Throws `TooLong`.
 *
 * @param command the command that does the same without a server
 */
export const readView = async (
  chat: Conversation,
  at: number | undefined,
  command: string,
): Promise<Effective> => {
  const now = await chat.context({ at })
  const add = bytesOf(chat.id, command, largestAnswer)
  for (const item of now.items) {
    add(JSON.stringify(item))
    await breath()
  }
  return now
}

/**
 * Throws `TooLong` if the conversations of a store have too many events in total. Reads the last event of each conversation until the
 * limit is exceeded.
 */
export const refuseMany = async (store: Pick<Store, 'conversations'>, command: string): Promise<void> => {
  let events = 0
  for await (const { events: own } of store.conversations()) {
    events += own
    if (events > longest)
      throw requestError(
        'TooLong',
        `the conversations of this store have more than the ${longest} events that this server reads for one request: run palimpsest ${command}`,
        { limit: longest },
      )
  }
}

/**
 * Returns a store from which at most 100,000 events can be read across all conversations. Beyond that, reading throws `TooLong`.
 *
 * @param command the command that does the same without a server
 * @returns the store, and `refuse`, which throws `TooLong` if the limit was exceeded: a reader may have caught the error and reported
 *   another one
 */
export const readTogether = <S extends Pick<Store, 'conversation'>>(store: S, command: string) => {
  let events = 0
  const refuse = (): void => {
    if (events > longest)
      throw requestError(
        'TooLong',
        `this needs more than the ${longest} events that this server reads for one request: run palimpsest ${command}`,
        { limit: longest },
      )
  }
  const conversation: Store['conversation'] = (id) => {
    const chat = store.conversation(id)
    return {
      ...chat,
      events: async function* (options) {
        for await (const event of chat.events(options)) {
          events++
          refuse()
          yield event
        }
      },
    }
  }
  return { store: { ...store, conversation }, refuse }
}

/** Runs work for a caller when there is room for it, unless the caller disconnects before the work begins. */
type Lane = <A>(leaving: () => AbortSignal, work: () => Promise<A>) => Promise<A>

/**
 * Makes a lane, which limits the number of long analyses that run at the same time. Throws `Overloaded` if too many are already
 * waiting.
 */
export const lane = (): Lane => {
  let working = 0
  const waiting: (() => void)[] = []
  const room = (left: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = (): void => {
        left.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        waiting.splice(waiting.indexOf(begin), 1)
        reject(hasLeft())
      }
      waiting.push(begin)
      if (left.aborted) leave()
      else left.addEventListener('abort', leave)
    })
  return async (leaving, work) => {
    if (working >= atOnce) {
      if (waiting.length >= mostWaiting)
        throw requestError(
          'Overloaded',
          'this server is busy reading long conversations: try again in a moment',
        )
      await room(leaving())
    } else working++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else working--
    }
  }
}

/** Starts a stream when the lane has room. The stream occupies the lane until it ends or its reader disconnects. Throws `Overloaded`. */
export const flowInTurn = <A>(
  inTurn: Lane,
  leaving: () => AbortSignal,
  begin: () => Promise<AsyncGenerator<A, void>>,
): Promise<AsyncGenerator<A, void>> =>
  new Promise((resolve, reject) => {
    const taken = async (): Promise<void> => {
      const flow = await begin()
      const left = leaving()
      await new Promise<void>((end, fail) => {
        const ending = withEnd(flow, () => Promise.resolve(end()))
        // Ends the work even if the stream was never read.
        const leave = (): void => void ending.return().catch(fail)
        if (left.aborted) leave()
        else left.addEventListener('abort', leave)
        resolve(ending)
      })
    }
    inTurn(leaving, taken).catch(reject)
  })

/** Returns a conversation whose events and original file throw once the caller has disconnected, so that work on them stops. */
export const untilLeft = (chat: Conversation, left: AbortSignal): Conversation => {
  async function* until<A>(events: AsyncIterable<A>): AsyncGenerator<A, void> {
    for await (const event of events) {
      if (left.aborted) throw hasLeft()
      yield event
    }
  }
  return {
    ...chat,
    events: (options) => until(chat.events(options)),
    stored: (options) => until(chat.stored(options)),
    original: async () => {
      const file = await chat.original()
      return { ...file, pieces: until(file.pieces) }
    },
  }
}

const hasLeft = () =>
  requestError('Ending', 'the client has disconnected, or this server is stopping: try again')

/** Wraps a generator so that `end` runs when the generator finishes, fails or is closed, even if it was never read. */
export const withEnd = <A>(
  flow: AsyncGenerator<A, void>,
  end: () => Promise<void>,
): AsyncGenerator<A, void> => {
  const until = async (step: Promise<IteratorResult<A, void>>): Promise<IteratorResult<A, void>> => {
    try {
      const result = await step
      if (result.done) await end()
      return result
    } catch (error) {
      await end()
      throw error
    }
  }
  const ending: AsyncGenerator<A, void> = {
    next: () => until(flow.next()),
    return: () => until(flow.return()),
    throw: (error) => until(flow.throw(error)),
    [Symbol.asyncIterator]: () => ending,
    [Symbol.asyncDispose]: async () => void (await until(flow.return())),
  }
  return ending
}
