import * as E from 'fp-ts/lib/Either.js'
import { unwrap, catchTyped, orThrow, type Fallible } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { StoreError } from '../errors.ts'
import { unknownOption } from '../options.ts'
import { allPages, namePages, pagesOf } from '../pages.ts'
import { type BlobInfo, type EventStore, maxPage } from '../port.ts'
import { isCut } from '../marks.ts'
import { checkHasKeys } from '../seal/store-secret.ts'
import { referencesOf } from './cut.ts'
import { unreadable } from './restore.ts'

export interface GcOptions {
  /**
   * Time before which a blob must last have been put to be removed. More recent blobs are kept, because an event that refers to one may
   * be about to be written. Default: one day ago.
   */
  readonly olderThan?: Date | undefined
  /** True to list unreferenced blobs without removing them. Default false. */
  readonly dryRun?: boolean | undefined
}

/** Report on the blobs stored outside events, and on their removal. */
export interface BlobGcReport {
  /** Number of all blobs before the removal; `bytes` is their total size. */
  readonly blobs: number
  readonly bytes: number
  /** Blobs that no event refers to and that are old enough to be removed. */
  readonly unreferenced: readonly BlobInfo[]
  /**
   * Number of unreferenced blobs selected for removal; 0 in a dry run. Includes blobs that were stored again during the run and
   * therefore kept.
   */
  readonly removed: number
}

const day = 24 * 60 * 60 * 1000

/**
 * Removes blobs that no event refers to. Others may write in the meantime, because a writer puts a blob again before it writes an event
 * that refers to the blob, and blobs put since `olderThan` are kept.
 *
 * @param store the underlying store, which does not restore large content
 */
export async function* collect(
  store: EventStore,
  options: GcOptions = {},
): Fallible<StoreError | InvalidInput, BlobGcReport> {
  if (typeof options !== 'object' || options === null)
    return yield invalidInput('options', 'must be an object, like { dryRun: true }')
  const unknown = unknownOption(options, ['olderThan', 'dryRun'])
  if (unknown) return yield unknown
  const now = Date.now()
  const { olderThan = new Date(now - day), dryRun = false } = options
  if (!(olderThan instanceof Date) || !(olderThan.getTime() <= now))
    return yield invalidInput('olderThan', 'must be a Date that is not in the future')
  // Without its keys, a sealed event shows no references, so everything would seem unreferenced.
  yield* checkHasKeys(store)
  const listed = yield* list(store)
  const old = listed.filter(({ time }) => time < olderThan)
  const unused = yield* unreferencedAmong(store, new Set(old.map(({ sha256 }) => sha256)))
  const unreferenced = old.filter(({ sha256 }) => unused.has(sha256))
  for (const { sha256 } of dryRun ? [] : unreferenced) yield* unwrap(store.blobs.remove(sha256, olderThan))
  return {
    blobs: listed.length,
    bytes: listed.reduce((sum, { bytes }) => sum + bytes, 0),
    unreferenced,
    removed: dryRun ? 0 : unreferenced.length,
  }
}

/**
 * Returns the hashes that no event in any stream refers to. Searches every stream, because streams other than conversations are also
 * written through `layeredStore`. Fails at the first event whose references cannot be read, because the blobs it refers to must be
 * kept.
 *
 * Searches the listed streams first, which usually finds a reference to every hash. If any hashes are left, searches all events,
 * including those in streams begun by a writer of an earlier release.
 */
export async function* unreferencedAmong(
  store: EventStore,
  hashes: ReadonlySet<string>,
): Fallible<StoreError | InvalidInput, ReadonlySet<string>> {
  const left = new Set(hashes)
  for (const pages of [knownPages, allPages])
    yield* catchTyped<StoreError | InvalidInput, void>(async () => {
      if (left.size === 0) return
      for await (const page of pages(store)) {
        for (const event of (await orThrow(page)).filter(isCut)) {
          const references = referencesOf(event)
          if (!references) throw toError(unreadable(event))
          for (const { sha256 } of references) left.delete(sha256)
        }
        if (left.size === 0) return
      }
    })
  return left
}

/** Yields the events of listed streams, skipping streams whose history is lost. */
async function* knownPages(store: EventStore): ReturnType<typeof pagesOf> {
  for await (const names of namePages((before) => store.newest([''], before, maxPage)))
    for (const stream of await orThrow(names))
      for await (const page of pagesOf(store, stream))
        if (E.isRight(page) || page.left._tag !== 'HistoryLost') yield page
}

const list = ({ blobs }: EventStore): Fallible<StoreError, readonly BlobInfo[]> =>
  catchTyped(async () => {
    const infos: BlobInfo[] = []
    for await (const info of blobs.list()) infos.push(info)
    return infos
  })
