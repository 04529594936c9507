import * as E from 'fp-ts/lib/Either.js'
import { orThrow, run, type Fallible } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import { z } from 'zod'
import { check } from '../../events/check.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { conversationOf, streamOf } from '../../events/ids.ts'
import { breath } from '../../store/breath.ts'
import { createLruCache } from '../../store/lru.ts'
import { isKeyMissing, type ReadError, type StoreError } from '../../store/errors.ts'
import { noNotes, type NoteIndex } from '../../conversation/beside/note-index.ts'
import type { Link } from '../../projections/notes.ts'
import { oneLine } from '../../projections/titles.ts'
import {
  infoOfWhole,
  type ConversationBeginnings,
  type ConversationInfo,
  type LogInfo,
  readBeginnings,
  readLogInfo,
} from './conversation-info.ts'
import { statuses } from '../status.ts'
import { traitNames } from '../traits.ts'
import { type FactConditions, type ListedConversation, listPages, type ListOptions } from './list-pages.ts'
import type { Checkpoint, EventStore, RecordedEvent } from '../../store/port.ts'

type Result<A> = Promise<E.Either<ReadError, A>>

const listOptions = z
  .strictObject({
    sort: z.enum(['begun', 'activity', 'tokens', 'id', 'newest']).optional(),
    beginning: z.string().optional(),
    ids: z.array(z.string()).optional(),
    facts: z.boolean().optional(),
    status: z.array(z.enum(statuses)).optional(),
    errors: z.boolean().optional(),
    has: z.array(z.enum(traitNames)).optional(),
    model: z.string().optional(),
    actor: z.string().optional(),
  })
  .refine((options) => options.ids === undefined || !(options.facts || hasConditions(options)), {
    error: 'ids cannot be combined with facts and conditions on them',
  })

/** Reports whether a list is limited by conditions on facts. */
export const hasConditions = ({ status, errors, has, model, actor }: FactConditions): boolean =>
  Boolean(errors) || [status, has, model, actor].some((condition) => condition !== undefined)

export const checkListOptions = (options: unknown): E.Either<InvalidInput, ListOptions> =>
  check(listOptions, options ?? {})

/** Number of conversations looked up concurrently; several at a time, because the store may be remote. */
const atOnce = 50
/** Maximum number of conversations cached. */
const maxKnown = 10_000

/**
 * Returns a function that lists the conversations of a store. A conversation is looked up again only if its stream was written to since
 * the last lookup. The returned generator throws a `StoreError` during iteration.
 */
export const createInfoLister = (
  store: EventStore,
  notes: NoteIndex,
): ((options?: ListOptions) => AsyncGenerator<ConversationInfo, void>) => {
  let known = createLruCache<LogInfo>(maxKnown)
  let since: Checkpoint | undefined

  const refresh = async (): Promise<void> => {
    const [changed, noted] = await Promise.all([store.changed(streamOf(''), since)(), run(notes.refresh())])
    const { streams, checkpoint } = await orThrow(changed)
    await orThrow(noted)
    since = checkpoint
    if (!streams) known = createLruCache(maxKnown)
    else for (const name of streams) known.forget(conversationOf(name) ?? name)
  }

  return async function* (options) {
    await orThrow(checkListOptions(options))
    await refresh()
    const [own, begun] = [known, since]
    const ancestors: ConversationBeginnings = new Map()
    let beginnings: ConversationBeginnings = new Map()
    const keep = (id: string, found: LogInfo): void => {
      // Not cached if a concurrent refresh may have found the information outdated.
      if (found.isSettled && begun !== undefined && since === begun) own.set(id, found)
    }
    const look = async (id: string): Result<LogInfo | undefined> => {
      const before = own.get(id)
      if (before) return E.right(before)
      const pause = breath()
      if (pause) await pause
      const found = await infoOrProblem(store, id, ancestors, beginnings.get(id))
      if (E.isLeft(found)) return found
      if (found.right) keep(id, found.right)
      return found
    }
    /** Returns the information on a conversation that needs no more reads. */
    const infoAtHand = ({
      id,
      mayHaveNotes,
    }: ListedConversation): E.Either<never, ConversationInfo> | undefined => {
      const beginning = mayHaveNotes ? undefined : beginnings.get(id)
      const found = beginning && infoOfWhole(id, beginning)
      if (found) keep(id, found)
      return found && E.right(found.info)
    }
    const lookWithNotes = async ({
      id,
      mayHaveNotes,
    }: ListedConversation): Result<ConversationInfo | undefined> => {
      const found = await look(id)
      if (E.isLeft(found) || !found.right) return found as E.Either<ReadError, undefined>
      const noted = await run(withNotes(notes, found.right, mayHaveNotes))
      return E.isLeft(noted) && isItsOwn(noted.left) ? E.right(problemOf(id, noted.left)) : noted
    }
    for await (const listed of listPages(store, notes, options ?? {}))
      for (let next = 0; next < listed.length; next += atOnce) {
        const those = listed.slice(next, next + atOnce)
        const unknown = those.flatMap(({ id }) => (own.get(id) ? [] : [id]))
        beginnings = await orThrow(run(readBeginnings(store, unknown)))
        for (const looked of await Promise.all(
          those.map((one) => Promise.resolve(infoAtHand(one) ?? lookWithNotes(one))),
        )) {
          if (E.isLeft(looked)) throw toError(looked.left)
          if (looked.right) yield looked.right
        }
        const pause = breath()
        if (pause) await pause
      }
  }
}

/** Reports whether an error concerns the conversation rather than the store. */
const isItsOwn = ({ _tag }: ReadError): boolean => itsOwn.has(_tag)
const itsOwn: ReadonlySet<ReadError['_tag']> = new Set([
  'DecodeFailed',
  'ConversationNotFound',
  'HistoryLost',
  'BlobMissing',
  'BlobDamaged',
])

const problemOf = (id: string, error: ReadError): ConversationInfo => ({
  id,
  title: '',
  messages: 0,
  events: 0,
  updated: '',
  problem: error.message,
  ...(isKeyMissing(error) && { isKeyMissing: true }),
})

/** Adds the title and links from notes. A fork that has no title takes the title that its parent had at the fork. */
async function* withNotes(
  notes: NoteIndex,
  { info, lineage }: LogInfo,
  mayHaveNotes: boolean,
): Fallible<StoreError, ConversationInfo> {
  if (info.problem !== undefined) return info
  const own = mayHaveNotes ? yield* notes.glance(info.id) : noNotes
  const { links } = own
  let title: string | undefined
  for (const { conversation, last } of lineage) {
    const { titles } = conversation === info.id ? own : yield* notes.glance(conversation)
    title = titles.find(({ at }) => at <= last)?.text
    if (title !== undefined) break
  }
  const parent = parentIn(links) ?? info.parent
  return {
    ...info,
    ...(title !== undefined && { title: oneLine(title) }),
    ...(links.length > 0 && { links }),
    ...(parent !== undefined && { parent }),
  }
}

const parentIn = (links: readonly Link[]): string | undefined =>
  ['subagent-of', 'continues', 'handed-over-from']
    .flatMap((relation) => links.filter((link) => link.relation === relation))
    .find(({ conversation }) => conversation !== undefined)?.conversation

const infoOrProblem = async (
  store: EventStore,
  id: string,
  ancestors: ConversationBeginnings,
  begun: readonly RecordedEvent[] | undefined,
): Result<LogInfo | undefined> => {
  const found = await run(readLogInfo(store, id, ancestors, begun))
  if (E.isRight(found) || !isItsOwn(found.left)) return found
  return E.right({ info: problemOf(id, found.left), isSettled: false, lineage: [] })
}
