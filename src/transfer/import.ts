import * as E from 'fp-ts/lib/Either.js'
import { invalidInput } from '../events/errors.ts'
import { notesStreamOf, streamOf } from '../events/ids.ts'
import { readers } from './formats/built-in.ts'
import { type ImportError, unknownFormat } from './formats/errors.ts'
import type { SessionFile } from './formats/parse-session.ts'
import type { ImportPlan, StoredConversation, StoredImport } from './formats/plan.ts'
import { formatNames } from './formats/registry.ts'
import type { Shelf } from './formats/shelf.ts'
import { lastPosition } from '../conversation/reading/ends.ts'
import { catchTyped, unwrap, run, type Fallible } from '../result/fallible.ts'
import type { LayeredStore } from '../store/whole/layered-store.ts'
import { despiteConflicts } from '../store/conflicts.ts'
import type { WriteError } from '../store/errors.ts'
import { checkOptions, kinds, oneOf } from '../store/options.ts'
import type { ImportResult } from './import-result.ts'
import { fileDigest, findKnownImport, noteImport } from './known-file.ts'
import { createFileCopy, type FileCopy, prepareArchive } from './prepare-archive.ts'
import { type ImportMemory, prepare, type PreparedAppend, prepareStored } from './prepare-events.ts'
import { prepareNotes, prepareStoredNotes } from './prepare-notes.ts'
import { readAny } from './read-any.ts'
import {
  isStream,
  type OpenSession,
  readFileBytes,
  sessionProblem,
  type SessionStream,
} from './read-session.ts'
import { fileShelf } from './shelf.ts'
import { type Addition, writeAll } from './write-whole.ts'

export interface ImportOptions {
  /** Called after each batch with the number of new events written so far and the total. */
  readonly progress?: ((written: number, total: number) => void) | undefined
  /**
   * True to keep the file itself, too, compressed, so that `original` returns it to the byte. It applies to a file of another program
   * that contains one conversation. Default true.
   */
  readonly archive?: boolean | undefined
}

type Importing<A> = Fallible<ImportError | WriteError, A>

/**
 * Returns the kinds of a session's options. `text`, `bytes` and `file` are checked separately, because there are two ways to pass the
 * content.
 */
const sessionFields = () => ({
  text: kinds.anything,
  bytes: kinds.anything,
  file: kinds.text,
  id: kinds.text,
  format: oneOf(formatNames()),
  skipBadLines: kinds.flag,
})
/**
 * Maximum number of attempts at an import while others write to the same conversations. Each attempt needs a new plan, because the plan
 * depends on the events that they write.
 */
const maxTries = 20

/**
 * Imports a session file. Everything is read, planned and checked before the first event is written, so an invalid file changes nothing
 * in the store. Importing the same file again adds nothing; a file that has grown adds only its new part.
 */
export async function* importSession(
  store: LayeredStore,
  session: SessionFile | SessionStream,
  options?: ImportOptions,
): Importing<ImportResult> {
  const problem = sessionProblem(session)
  if (problem !== undefined) return yield invalidInput('session', problem)
  yield* unwrap(checkOptions<Partial<SessionFile & SessionStream>>(session, sessionFields()))
  const wishes = yield* unwrap(checkOptions(options, { progress: kinds.call, archive: kinds.flag }))
  const { archive = true } = wishes
  if (!isStream(session)) return yield* readAndWrite(store, session, wishes)
  const { bytes, ...rest } = session
  if (typeof bytes !== 'function') return yield* readAndWrite(store, { ...rest, bytes }, wishes)
  const before = fileDigest(rest, archive)
  yield* catchTyped<ImportError, void>(() => readThrough(before.taking(bytes)))
  const known = await findKnownImport(store, before.stream())
  if (known) return known
  // The file may have grown since.
  const digest = fileDigest(rest, archive)
  const imported = yield* readAndWrite(store, { ...rest, bytes: digest.taking(bytes) }, wishes)
  // A file that differs must say so each time.
  if (imported.conversations.every(({ changed, erased }) => (changed ?? erased) === undefined))
    await noteImport(store, digest.stream(), imported)
  return imported
}

const readThrough = async (bytes: OpenSession['bytes']): Promise<void> => {
  for await (const _ of bytes);
}

async function* readAndWrite(
  store: LayeredStore,
  session: SessionFile | OpenSession,
  { progress, archive = true }: ImportOptions,
): Importing<ImportResult> {
  const room = fileShelf()
  const copy = archive && session.format !== 'palimpsest' ? createFileCopy() : undefined
  try {
    // The shelf's file is read until the last event is written.
    const imported = yield* catchTyped<ImportError, E.Either<ImportError | WriteError, ImportResult>>(
      async () => {
        const { read, shelf } = await readAny(copied(session, copy), room)
        return E.isLeft(read)
          ? read
          : run(importPlan(store, session.file, read.right, { shelf, progress, copy }))
      },
    )
    return yield* unwrap(imported)
  } finally {
    room.close()
    copy?.close()
  }
}

/** Returns the session, whose bytes are copied as they are read. */
const copied = (
  session: SessionFile | OpenSession,
  copy: FileCopy | undefined,
): SessionFile | OpenSession => {
  if (!copy) return session
  if (isStream(session)) return { ...session, bytes: copy.taking(readFileBytes(session.file, session.bytes)) }
  copy.add(session.text)
  return session
}

interface Means {
  readonly shelf: Shelf
  readonly progress: ImportOptions['progress']
  /** The bytes of the file; undefined if they are not to be archived. */
  readonly copy: FileCopy | undefined
  /** Memories of the conversations, by id. */
  readonly memories?: ReadonlyMap<string, ImportMemory>
}
interface Try extends Means {
  /** Number of events that this import has added to each stream, in all attempts together. */
  readonly added: Map<string, number>
}

export const importPlan = (
  store: LayeredStore,
  file: string,
  plan: ImportPlan | StoredImport,
  means: Means,
): Importing<ImportResult> => {
  const added = new Map<string, number>()
  return despiteConflicts(() => importOnce(store, file, plan, { ...means, added }), maxTries)
}

async function* importOnce(
  store: LayeredStore,
  file: string,
  plan: ImportPlan | StoredImport,
  { shelf, progress, copy, memories, added }: Try,
): Importing<ImportResult> {
  const { format, report } = plan
  const prepared: PreparedAppend[] = []
  for (const conversation of plan.conversations)
    prepared.push(
      'actions' in conversation && format !== 'palimpsest'
        ? yield* prepare(store, conversation, format, shelf, memories?.get(conversation.id))
        : yield* prepareStored(store, conversation as StoredConversation, plan.conversations),
    )
  if (prepared.every(({ end, events }) => lastPosition(end) < 0 && events.length === 0))
    return yield {
      ...unknownFormat(
        `${file} contains no message in the format ${format} yet: import it again when it does`,
        'it is a session in another format',
      ),
      isWithoutMessages: true,
    }
  const additions = [...prepared, ...(yield* prepareAllNotes(store, plan, prepared))]
  const [only, ...others] = prepared
  // A file with several conversations is not archived, because erasing one of them would have to erase what the others are in, too.
  if (copy && only && others.length === 0 && only.erased === undefined && readers.has(format))
    additions.push(yield* prepareArchive(store, only.id, copy, { format, shelf }))
  const total = additions.reduce((sum, { events }) => sum + events.length, 0)
  let written = 0
  yield* writeAll(store, additions, ({ stream }, events) => {
    added.set(stream, (added.get(stream) ?? 0) + events)
    progress?.((written += events), total)
  })
  const conversations = prepared.map(({ id, end, events, changed, erased }) => {
    const notes = added.get(notesStreamOf(id))
    return {
      id,
      added: added.get(streamOf(id)) ?? 0,
      events: lastPosition(end) + 1 + events.length,
      ...(notes !== undefined && { notes }),
      ...(changed !== undefined && { changed }),
      ...(erased !== undefined && { erased }),
    }
  })
  return { format, report, conversations }
}

async function* prepareAllNotes(
  store: LayeredStore,
  plan: ImportPlan | StoredImport,
  prepared: readonly PreparedAppend[],
): Importing<readonly Addition[]> {
  const additions: Addition[] = []
  for (const [index, conversation] of plan.conversations.entries()) {
    const { id, notes } = conversation
    const own = prepared[index]
    if (!notes || !own) continue
    const at = lastPosition(own.end) + own.events.length
    if (at < 0 || notes.length === 0) continue
    additions.push(
      'actions' in conversation
        ? yield* prepareNotes(store, id, conversation.notes ?? [], { at, format: plan.format })
        : yield* prepareStoredNotes(store, id, conversation.notes ?? []),
    )
  }
  return additions
}
