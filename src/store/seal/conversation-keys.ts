import { randomBytes } from 'node:crypto'
import { contentKinds, contentStreams } from '../../events/ids.ts'
import type { Covers } from '../../events/event-types.ts'
import { createLruCache } from '../lru.ts'
import { keyReader, nodeOf, type TreeKey, withNewKeys, withoutKeys } from './key-tree.ts'
import type { KeyStore } from './key-store.ts'

/** Beginnings of the names of the streams that are sealed. A conversation's own streams have one record of keys. */
const prefixes = contentKinds.map((kind) => contentStreams[kind](''))
type Prefix = string

/** A sealed stream: the kind of its name, and the conversation. */
export interface SealedStream {
  readonly prefix: Prefix
  readonly id: string
}

/** Returns the conversation of a stream that is sealed; undefined for any other stream. */
export const sealedStreamOf = (stream: unknown): SealedStream | undefined => {
  if (typeof stream !== 'string') return undefined
  const prefix = prefixes.find((one) => stream.startsWith(one))
  return prefix === undefined ? undefined : { prefix, id: stream.slice(prefix.length) }
}

/** Erased events, with the time of their erasure in ISO 8601. */
export interface ErasedRange extends Covers {
  readonly time: string
}

/** Events of a conversation's streams whose keys are to be destroyed. */
export interface KeyErasure {
  readonly ranges: ReadonlyMap<Prefix, readonly ErasedRange[]>
}

/** An erasure whose `Erased` event is about to be appended to the conversation: at this revision, with this id. */
export interface PlannedErasure extends KeyErasure {
  readonly revision: number
  readonly event: string
}

/** Keys of one stream. */
export interface StreamKeys {
  /** Reports whether the key of an event was not destroyed. */
  readonly has: (revision: number) => boolean
  readonly keyOf: (revision: number) => Uint8Array | undefined
  /** Returns when an event was erased; undefined if it was not. */
  readonly erasedAt: (revision: number) => string | undefined
}

/** Keys of a conversation, as they are stored. */
interface KeyRecord {
  readonly streams: ReadonlyMap<
    Prefix,
    { readonly nodes: readonly TreeKey[]; readonly erased: readonly ErasedRange[] }
  >
  /** Erasures that were begun: by several processes, or by some that have ended. */
  readonly planned: readonly PlannedErasure[]
}

/** The keys of the conversations of a store. */
export interface ConversationKeys {
  /** Returns the keys of a stream; undefined if the conversation has none. */
  readonly read: (stream: SealedStream) => Promise<StreamKeys | undefined>
  /** Returns the keys of a stream if they were read less than `maxAge` ms ago. */
  readonly recent: (stream: SealedStream) => StreamKeys | undefined
  /** Returns the keys of a stream. Creates those of the conversation if it has none. */
  readonly create: (stream: SealedStream) => Promise<StreamKeys>
  /** Records that keys are to be destroyed once an event is appended. */
  readonly plan: (id: string, erasure: PlannedErasure) => Promise<void>
  /** Destroys keys. If that was planned, the plan is done. */
  readonly destroy: (id: string, erasure: KeyErasure | PlannedErasure) => Promise<void>
  /** Creates keys for the revisions from `first` on whose keys were destroyed, and returns the keys of the stream. */
  readonly renew: (stream: SealedStream, first: number) => Promise<StreamKeys>
  /** Drops what is remembered of a conversation. */
  readonly forget: (id: string) => void
}

/** Time for which keys are remembered, in milliseconds: another process may destroy them. */
const maxAge = 5_000
/** Number of conversations whose keys are remembered. */
const mostRemembered = 10_000

/**
 * @param wasAppended reports whether the event of a planned erasure was appended, in case the process that planned it has ended
 */
export const createConversationKeys = (
  keys: KeyStore,
  wasAppended: (id: string, planned: PlannedErasure) => Promise<boolean>,
): ConversationKeys => {
  const remembered = createLruCache<{
    readonly streams: ReadonlyMap<Prefix, StreamKeys>
    readonly time: number
  }>(mostRemembered)

  const remember = (id: string, record: KeyRecord): ReadonlyMap<Prefix, StreamKeys> => {
    const streams = new Map(
      [...record.streams].map(([prefix, { nodes, erased }]): [Prefix, StreamKeys] => [
        prefix,
        {
          has: (revision) => nodeOf(nodes, revision) !== undefined,
          keyOf: keyReader(nodes),
          erasedAt: (revision) =>
            erased.find(({ first, last }) => first <= revision && revision <= last)?.time,
        },
      ]),
    )
    remembered.set(id, { streams, time: performance.now() })
    return streams
  }

  /** Changes the record of a conversation, as often as another process changes it at the same time. */
  const change = async (id: string, changed: (record: KeyRecord | undefined) => KeyRecord): Promise<void> => {
    for (;;) {
      const before = await keys.read(id)
      const record = changed(before === undefined ? undefined : recordIn(before))
      if (!(await keys.write(id, textOf(record), before))) continue
      remember(id, record)
      return
    }
  }

  const destroy: ConversationKeys['destroy'] = (id, erasure) =>
    change(id, (record = newRecord()) => {
      const plan = 'event' in erasure ? erasure.event : undefined
      // Another process may have carried it out.
      if (plan !== undefined && !record.planned.some(({ event }) => event === plan)) return record
      const streams = new Map(record.streams)
      for (const [prefix, ranges] of erasure.ranges) {
        const { nodes, erased } = streams.get(prefix) ?? newKeys()
        const left = ranges.reduce((all, { first, last }) => withoutKeys(all, first, last), nodes)
        // The newest time comes first: content that came back was erased again.
        streams.set(prefix, { nodes: left, erased: [...ranges, ...erased] })
      }
      return { streams, planned: record.planned.filter(({ event }) => event !== plan) }
    })

  const load = async (id: string): Promise<ReadonlyMap<Prefix, StreamKeys> | undefined> => {
    const text = await keys.read(id)
    if (text === undefined) return undefined
    const record = recordIn(text)
    const appended: PlannedErasure[] = []
    for (const planned of record.planned) if (await wasAppended(id, planned)) appended.push(planned)
    if (appended.length === 0) return remember(id, record)
    for (const planned of appended) await destroy(id, planned)
    return remembered.get(id)?.streams
  }

  const recent: ConversationKeys['recent'] = ({ id, prefix }) => {
    const found = remembered.get(id)
    return found && performance.now() - found.time < maxAge ? found.streams.get(prefix) : undefined
  }
  const read: ConversationKeys['read'] = async (stream) =>
    recent(stream) ?? (await load(stream.id))?.get(stream.prefix)

  return {
    recent,
    read,
    create: async (stream) => {
      const found = await read(stream)
      if (found) return found
      await change(stream.id, (record = newRecord()) => record)
      return (await read(stream)) as StreamKeys
    },
    plan: async (id, planned) => {
      // Carries out what was planned before.
      await load(id)
      await change(id, (record = newRecord()) => ({
        ...record,
        // Where others were to be appended before, there are events now: what was planned there is done, or never will be.
        planned: [...record.planned.filter(({ revision }) => revision >= planned.revision), planned],
      }))
    },
    destroy,
    renew: async (stream, first) => {
      await change(stream.id, (record = newRecord()) => {
        const { nodes, erased } = record.streams.get(stream.prefix) ?? newKeys()
        const renewed = {
          nodes: withNewKeys(nodes, first, randomBytes(32)),
          erased: erased
            .filter((range) => range.first < first)
            .map((range) => ({ ...range, last: Math.min(range.last, first - 1) })),
        }
        return { ...record, streams: new Map(record.streams).set(stream.prefix, renewed) }
      })
      return (await read(stream)) as StreamKeys
    },
    forget: remembered.forget,
  }
}

const newKeys = () => ({ nodes: [{ level: 0, index: 0, key: randomBytes(32) }], erased: [] })
const newRecord = (): KeyRecord => ({
  streams: new Map(prefixes.map((prefix) => [prefix, newKeys()])),
  planned: [],
})

const form = 'keys 1'

/** The record as JSON: numbers are separated by spaces, to keep it short. */
interface RecordText {
  readonly palimpsest: string
  readonly streams: Readonly<
    Record<Prefix, { readonly keys: readonly string[]; readonly erased: readonly string[] }>
  >
  readonly planned?: readonly {
    readonly revision: number
    readonly event: string
    readonly ranges: Readonly<Record<string, readonly string[]>>
  }[]
}

const textOfRange = ({ first, last, time }: ErasedRange): string => `${first} ${last} ${time}`
const rangeIn = (text: string): ErasedRange => {
  const [first, last, time = ''] = text.split(' ')
  return { first: Number(first), last: Number(last), time }
}

const textOf = ({ streams, planned }: KeyRecord): string => {
  const record: RecordText = {
    palimpsest: form,
    streams: Object.fromEntries(
      [...streams].map(([prefix, { nodes, erased }]) => [
        prefix,
        {
          keys: nodes.map(
            ({ level, index, key }) => `${level} ${index} ${Buffer.from(key).toString('base64url')}`,
          ),
          erased: erased.map(textOfRange),
        },
      ]),
    ),
    ...(planned.length > 0 && {
      planned: planned.map((one) => ({
        ...one,
        ranges: Object.fromEntries(
          [...one.ranges].map(([prefix, ranges]) => [prefix, ranges.map(textOfRange)]),
        ),
      })),
    }),
  }
  return JSON.stringify(record)
}

/** Parses a record. Throws an `Error` if it has another form. */
const recordIn = (text: string): KeyRecord => {
  const record = JSON.parse(text) as RecordText
  if (record.palimpsest !== form)
    throw new Error(
      `they have the form ${record.palimpsest}: a newer palimpsest wrote them; upgrade palimpsest`,
    )
  const { streams, planned = [] } = record
  return {
    streams: new Map(
      Object.entries(streams).map(([prefix, { keys, erased }]) => [
        prefix,
        {
          nodes: keys.map((one): TreeKey => {
            const [level, index, key = ''] = one.split(' ')
            return { level: Number(level), index: Number(index), key: Buffer.from(key, 'base64url') }
          }),
          erased: erased.map(rangeIn),
        },
      ]),
    ),
    planned: planned.map((plan) => ({
      ...plan,
      ranges: new Map(Object.entries(plan.ranges).map(([prefix, ranges]) => [prefix, ranges.map(rangeIn)])),
    })),
  }
}
