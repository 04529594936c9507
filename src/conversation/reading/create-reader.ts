import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { decode, decodeTimed, hashOf } from '../../events/codec.ts'
import { conversationNotFound } from '../../commands/rejections.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { START } from '../../events/events.ts'
import { lastPosition, readConversationEnd } from './ends.ts'
import { loadDiff } from './load-diff.ts'
import { loadEffective } from './load.ts'
import { loadLog, openAt, openShown, outsideOf } from './log.ts'
import { loadNewest } from './newest.ts'
import { readNoteEntries } from '../beside/note-reader.ts'
import { orNearest } from './nearest-conversation.ts'
import { reader } from './reader.ts'
import { type VerificationReport, verify } from '../verify.ts'
import type { Diff } from '../../projections/diff.ts'
import type { Effective, Item } from '../../projections/effective.ts'
import { type Entry, fullInSlices, type FullOptions } from '../../projections/full.ts'
import { type NoteEntry, woven } from '../../projections/notes.ts'
import type { Log } from '../../projections/path.ts'
import { type RenderResult, rendering } from '../../projections/render/renderer.ts'
import { timelineInSlices } from '../../projections/timeline.ts'
import { unwrap, run, type Fallible, task } from '../../result/fallible.ts'
import { inBreaths } from '../../store/breath.ts'
import type { Own } from './lineage.ts'
import type { ReadError } from '../../store/errors.ts'
import { checkOptions, type OptionKinds, kinds, oneOf } from '../../store/options.ts'
import type { EventStore } from '../../store/port.ts'
import type {
  PositionOption,
  DiffOptions,
  EndPosition,
  FullEntries,
  FullReader,
  FullWithNotes,
  ConversationReader,
} from './conversation-reader.ts'

type Read<A> = TaskEither<ReadError, A>
type Reads<A> = Fallible<ReadError, A>

const atFields = { at: kinds.position }
const fullFields = {
  ...atFields,
  abandoned: kinds.flag,
  last: kinds.several,
  before: kinds.position,
  notes: kinds.flag,
}
const renderFields = {
  ...atFields,
  systemMessages: kinds.flag,
  prefill: kinds.flag,
  truncationNotes: kinds.flag,
  cache: oneOf(['5m', '1h']),
}
const diffFields = { from: kinds.position, to: kinds.position }

/** Methods that read a conversation, with a variant for callers that do not treat a missing conversation as an error. */
export interface OwnReading extends ConversationReader {
  /** Like `context`, but returns undefined if the conversation does not exist yet. */
  readonly begun: (options?: PositionOption) => Reads<Effective | undefined>
}

/** Reports whether a read failed because the conversation itself, not one that it was forked from, does not exist. */
const isNotBegun = (read: E.Either<ReadError, unknown>, id: string): boolean =>
  E.isLeft(read) && read.left._tag === 'ConversationNotFound' && read.left.conversation === id

export const createReader = (
  store: EventStore,
  id: string,
  checkedId: E.Either<InvalidInput, string>,
  own: Own,
): OwnReading => {
  /** Builds a read whose options are checked immediately, so that the caller may change them afterwards. */
  const look = <O extends object, A>(
    options: O | undefined,
    fields: OptionKinds<O>,
    read: (options: Partial<O>) => Reads<A>,
  ): Read<A> => {
    const given = checkOptions(options, fields)
    const work = task(async function* (): Reads<A> {
      const checked = yield* unwrap(given)
      yield* unwrap(checkedId)
      return yield* read(checked)
    })
    return orNearest(store, work)
  }

  async function* loaded(at: number | undefined, withConfiguration: boolean): Reads<Effective> {
    const opened = yield* unwrap(openShown(store, id, at, own))
    const moment = yield* loadEffective(opened.reading, opened.at, withConfiguration)
    const { effective } = moment
    const shown = { ...moment, effective: { ...effective, at: effective.head } }
    if (opened.newest && withConfiguration) own.saw?.(opened.reading.lineage, opened.newest, shown)
    return effective
  }

  async function* newestEntries(
    last: number,
    { at, before = Infinity, abandoned = false }: FullOptions,
  ): Reads<readonly Entry[]> {
    const opened = yield* unwrap(openShown(store, id, at, own))
    return yield* loadNewest(opened.reading, { at: opened.at, last, before, abandoned })
  }

  /**
   * Projects the log up to the highest of the given positions; an undefined position means the last one. The default decoder reads only
   * the time from an event's metadata, because most projections need no more.
   */
  async function* projected<A>(
    positions: readonly (number | undefined)[],
    project: (log: Log, last: number) => Iterator<void, A>,
    decoder = decodeTimed,
  ): Reads<A> {
    const { lineage, last } = yield* unwrap(openAt(store, id, undefined, own))
    for (const position of positions) {
      const outside = outsideOf(id, position, last)
      if (outside) return yield outside
    }
    const until = Math.max(...positions.map((position) => position ?? last))
    return await inBreaths(project(yield* unwrap(loadLog(reader(store, lineage, { decoder }), until)), last))
  }

  return {
    exists: () =>
      look({}, {}, async function* (): Reads<boolean> {
        return (yield* unwrap(readConversationEnd(store, id, own.lineage))).last !== undefined
      }),
    begun: async function* (options): Reads<Effective | undefined> {
      const { at } = yield* unwrap(checkOptions(options, atFields))
      yield* unwrap(checkedId)
      const now = await run(loaded(at, true))
      return isNotBegun(now, id) ? undefined : yield* unwrap(now)
    },
    position: () =>
      look({}, {}, async function* (): Reads<number> {
        const { last } = yield* unwrap(openAt(store, id, undefined, own))
        return last
      }),
    end: () =>
      look({}, {}, async function* (): Reads<EndPosition> {
        const { lineage, last } = yield* unwrap(readConversationEnd(store, id, own.lineage))
        if (!last) return yield conversationNotFound(id)
        return { position: lastPosition({ lineage, revision: last.revision }), hash: hashOf(last) }
      }),
    effective: (options) =>
      look(options, atFields, async function* ({ at }): Reads<readonly Item[]> {
        const { items } = yield* loaded(at, false)
        return items
      }),
    context: (options) => look(options, atFields, ({ at }) => loaded(at, true)),
    full: ((options) =>
      look<FullWithNotes, FullEntries>(
        options,
        fullFields,
        async function* ({ notes: withNotes = false, ...given }): Reads<FullEntries> {
          const entries =
            given.last === undefined
              ? yield* projected([given.at], (log) => fullInSlices(log, given))
              : yield* newestEntries(given.last, given)
          if (!withNotes) return entries
          return woven(entries, notesAmong(yield* readNoteEntries(store, id, given.at), entries, given))
        },
      )) as FullReader,
    render: (options) =>
      look(options, renderFields, async function* ({ at, ...given }): Reads<RenderResult> {
        return await inBreaths(rendering(yield* loaded(at, true), given))
      }),
    diff: (options) =>
      look<DiffOptions, Diff>(options, diffFields, async function* ({ from, to }): Reads<Diff> {
        if (from === undefined) return yield invalidInput('from', 'must be the position to compare from')
        const { lineage, last } = yield* unwrap(openAt(store, id, undefined, own))
        for (const position of [from, to]) {
          const outside = outsideOf(id, position, last)
          if (outside) return yield outside
        }
        return yield* loadDiff(reader(store, lineage, { decoder: decodeTimed }), from, to ?? last)
      }),
    timeline: (options) =>
      look(options, atFields, ({ at }) => projected([at], (log) => timelineInSlices(log), decode)),
    verify: (options) =>
      look(
        options,
        { file: kinds.flag, inherited: kinds.flag },
        async function* ({ file = true, inherited }): Reads<VerificationReport> {
          const verified = yield* verify(store, id, inherited)
          if (!verified.discrepancy && file && store.integrity) yield* unwrap(store.integrity())
          return verified
        },
      ),
  }
}

/**
 * Selects the notes that belong among the requested entries. Notes before the first entry are left out if the history has earlier
 * entries.
 */
const notesAmong = (
  notes: readonly NoteEntry[],
  entries: readonly Entry[],
  { last = Infinity, before = Infinity }: FullOptions,
): readonly NoteEntry[] => {
  const first = entries.length < last ? START : (entries[0]?.position ?? START)
  return notes.filter(({ position }) => position >= first && position < before)
}
