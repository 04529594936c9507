import type { EventStore } from '../../../src/store/port.ts'

/** What was asked of a store at once, sorted: on a server, all of it takes one round trip. */
export type RoundTrip = readonly string[]

/** So often the event loop comes round before what was asked is answered: whoever asks more at once has done so by then. */
const turns = 10

/** A store that answers what is asked at once together, and tells `asked` of it: `read conversation`, `append turns`, … */
export const roundTrips = (store: EventStore, asked: (trip: RoundTrip) => void): EventStore => {
  let waiting: { readonly what: string; readonly answer: () => void }[] = []

  const answerAll = async (): Promise<void> => {
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
    const trip = waiting
    waiting = []
    asked(trip.map(({ what }) => what).toSorted())
    for (const { answer } of trip) answer()
  }
  const trip = (what: string): Promise<void> =>
    new Promise((answer) => {
      if (waiting.length === 0) void answerAll()
      waiting.push({ what, answer })
    })
  const kindOf = (stream: string): string => stream.slice(0, stream.indexOf('-'))

  return {
    ...store,
    read: (range) => async () => {
      await trip(`read ${kindOf(range.stream)}`)
      return store.read(range)()
    },
    append: (request) => async () => {
      await trip(`append ${kindOf(request.stream)}`)
      return store.append(request)()
    },
  }
}
