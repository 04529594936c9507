import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { StoredEvent } from '../../events/codec.ts'
import { newCommandId } from '../../events/ids.ts'
import {
  type BlobInfo,
  blobChunk,
  type EventStore,
  type FollowItem,
  maxPage,
  type RecordedEvent,
} from '../../store/port.ts'

// Helpers that the rules of the contract share.

/** A rule of the store port, with its test on a complete store. `run` throws if the store breaks the rule. */
export interface ContractRule {
  readonly title: string
  readonly run: (store: EventStore) => Promise<void>
}

export const event = (text = 'hello', type = 'MessageAppended'): StoredEvent => ({
  id: newCommandId(),
  type,
  data: JSON.stringify({ role: 'user', content: [{ type: 'text', text }] }),
  metadata: JSON.stringify({ schema: 1, commandId: 'c', prev: null }),
})
export const events = (n: number): readonly StoredEvent[] =>
  Array.from({ length: n }, (_, index) => event(`${index}`))

export const right = async <A>(task: TaskEither<unknown, A>): Promise<A> => {
  const result = await task()
  assert.ok(E.isRight(result), JSON.stringify(result))
  return result.right
}
export const errorOf = async <Err>(task: TaskEither<Err, unknown>): Promise<Err> => {
  const result = await task()
  assert.ok(E.isLeft(result), 'it succeeded')
  return result.left
}
export const forwards = (
  store: EventStore,
  stream: string,
  from = 0,
  limit = maxPage,
): Promise<readonly RecordedEvent[]> => right(store.read({ stream, from, direction: 'forwards', limit }))
export const backwards = (
  store: EventStore,
  stream: string,
  from: number,
  limit: number,
): Promise<readonly RecordedEvent[]> => right(store.read({ stream, from, direction: 'backwards', limit }))
export const ids = (recorded: readonly StoredEvent[]): readonly string[] => recorded.map(({ id }) => id)
export const texts = ({ id, type, data, metadata }: StoredEvent): StoredEvent => ({
  id,
  type,
  data,
  metadata,
})

/** Follows the store until `enough` returns true. Returns the items received. */
export const followUntil = async (
  store: EventStore,
  options: { readonly prefixes?: readonly string[]; readonly after?: string },
  enough: (seen: readonly FollowItem[]) => boolean,
): Promise<readonly FollowItem[]> => {
  const stop = new AbortController()
  const seen: FollowItem[] = []
  for await (const item of store.follow({ ...options, signal: stop.signal })) {
    seen.push(item)
    if (enough(seen)) stop.abort()
  }
  return seen
}
/**
 * Returns the last checkpoint as an option for `follow`, which then skips earlier events. Reading all events of a shared database could
 * take long.
 */
export const fromHere = async (store: EventStore): Promise<{ readonly after?: string }> => {
  const { checkpoint } = await right(store.changed('', undefined))
  return checkpoint === undefined ? {} : { after: checkpoint }
}
export const idsOfFollowed = (seen: readonly FollowItem[]): readonly string[] =>
  seen.flatMap((item) => (item.type === 'event' ? [item.event.id] : []))

/** Returns a blob with this number of chunks, the last one of 1,000 bytes. The content depends on `n` and `chunks` only. */
export const blobOf = (
  n: number,
  chunks = 1,
): { readonly sha256: string; readonly chunks: readonly Uint8Array[] } => {
  const all = Array.from({ length: chunks }, (_, index) =>
    new Uint8Array(index < chunks - 1 ? blobChunk : 1_000).fill(n + index),
  )
  const hash = createHash('sha256')
  for (const chunk of all) hash.update(chunk)
  return { sha256: hash.digest('hex'), chunks: all }
}
export const bytesOf = async (store: EventStore, sha256: string): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  for await (const chunk of store.blobs.get(sha256)) chunks.push(chunk)
  return Buffer.concat(chunks)
}
export const infosOf = async (store: EventStore): Promise<readonly BlobInfo[]> => {
  const infos: BlobInfo[] = []
  for await (const info of store.blobs.list()) infos.push(info)
  return infos.toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1))
}
/** Waits until the clock has advanced, and returns the new time. */
export const later = async (): Promise<Date> => {
  const before = Date.now()
  while (Date.now() === before) await new Promise((resolve) => setTimeout(resolve, 1))
  return new Date()
}
