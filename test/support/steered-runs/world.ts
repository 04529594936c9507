import Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import { openStore, type Store } from '../../../src/index.ts'
import type { EventStore } from '../../../src/store/port.ts'
import type { Moment } from './plan.ts'

/** A process: a handle of the store and a client of the API, which both are dead once it has died. */
export interface Process {
  readonly store: Store
  readonly client: Anthropic
  readonly isDead: () => boolean
  readonly die: () => void
  /** Lets happen what is to happen there. */
  readonly at: (on: Moment['on'], isAfter: boolean, nth: number) => Promise<void>
  /** Counts what the process does. */
  readonly count: (on: Moment['on']) => number
}

export interface ProcessOptions {
  readonly source: EventStore
  readonly url: string
  /** The number of the next request. */
  readonly numberOf: () => number
  readonly onHead: (number: number, id: string | undefined) => void
  readonly moments: readonly Moment[]
  readonly perform: (moment: Moment) => Promise<void>
}

/** More than any turn does of a kind. */
const most = 3_000

export const processOf = async ({
  source,
  url,
  numberOf,
  onHead,
  moments,
  perform,
}: ProcessOptions): Promise<Process> => {
  let dead = false
  const counts = new Map<string, number>()
  const left = new Set(moments)
  const closed = E.left({ _tag: 'StoreClosed', message: 'the process has died', store: source.url } as const)
  const at: Process['at'] = async (on, isAfter, nth) => {
    for (const moment of left)
      if (!dead && moment.on === on && moment.isAfter === isAfter && moment.nth === nth) {
        left.delete(moment)
        await perform(moment)
      }
  }
  const count = (on: string): number => {
    const nth = counts.get(on) ?? 0
    counts.set(on, nth + 1)
    return nth
  }
  const around = async <A>(on: Moment['on'], work: () => Promise<A>, gone: () => A): Promise<A> => {
    const nth = count(on)
    // A turn that goes round and round lets no timer run.
    if (nth > most) throw new Error('a turn does not end')
    await at(on, false, nth)
    if (dead) return gone()
    const done = await work()
    await at(on, true, nth)
    return dead ? gone() : done
  }
  const mortal: EventStore = {
    ...source,
    append: (request) => () => around('append', source.append(request), () => closed),
    read: (range) => () => around('read', source.read(range), () => closed),
    find: (stream, id) => async () => (dead ? closed : source.find(stream, id)()),
  }
  const broken = (): never => {
    throw new Error('the process has died')
  }
  const client = new Anthropic({
    baseURL: url,
    apiKey: 'key',
    fetch: (target, init) => {
      const headers = new Headers(init?.headers)
      const number = numberOf()
      headers.set('x-number', String(number))
      const ask = async (): Promise<Response> => {
        const response = await fetch(target, { ...init, headers })
        onHead(number, response.headers.get('request-id') ?? undefined)
        return response
      }
      return around('request', ask, broken)
    },
  })
  const store = await openStore(mortal)
  return { store, client, isDead: () => dead, die: () => (dead = true), at, count }
}
