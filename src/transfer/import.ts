import type * as E from 'fp-ts/lib/Either.js'
import { invalidInput } from '../events/errors.ts'
import { notesStreamOf, streamOf } from '../events/ids.ts'
import { readers } from './formats/built-in.ts'
import { type ImportError, unknownFormat } from './formats/errors.ts'
import type { SessionFile, SessionOptions } from './formats/parse-session.ts'
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
import { closeFile, type KeptFile, type KeptFiles, mostKept } from './kept-files.ts'
import { fileDigest, findKnownImport, noteImport } from './known-file.ts'
import { createFileCopy, type FileCopy, prepareArchive } from './prepare-archive.ts'
import {
  createImportMemories,
  type ImportMemories,
  prepare,
  type PreparedAppend,
  prepareStored,
} from './prepare-events.ts'
import { prepareNotes, prepareStoredNotes } from './prepare-notes.ts'
import { type AnySession, readAny } from './read-any.ts'
import {
  type BytesReader,
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
 *
 * @param files files that this store has imported before: of one that has grown, only the new part is parsed
 */
export async function* importSession(
  store: LayeredStore,
  session: SessionFile | SessionStream,
  options?: ImportOptions,
  files?: KeptFiles,
): Importing<ImportResult> {
  const problem = sessionProblem(session)
  if (problem !== undefined) return yield invalidInput('session', problem)
  yield* unwrap(checkOptions<Partial<SessionFile & SessionStream>>(session, sessionFields()))
  const wishes = yield* unwrap(checkOptions(options, { progress: kinds.call, archive: kinds.flag }))
  if (!isStream(session)) return yield* importOpen(store, session, wishes)
  const { bytes, ...rest } = session
  return typeof bytes === 'function'
    ? yield* importFile(store, { ...rest, bytes }, wishes, files)
    : yield* importOpen(store, { ...rest, bytes }, wishes)
}

/** Imports a session that can be read only once. */
async function* importOpen(
  store: LayeredStore,
  session: SessionFile | OpenSession,
  { progress, archive = true }: ImportOptions,
): Importing<ImportResult> {
  const file = openFile(session, archive)
  try {
    const reading = () => readAny(copied(session, file.copy), file.shelf)
    return (yield* readAndWrite(store, session.file, reading, { ...file, progress })).imported
  } finally {
    closeFile(file)
  }
}

async function* importFile(
  store: LayeredStore,
  { bytes, ...session }: GivenFile,
  { progress, archive = true }: ImportOptions,
  files?: KeptFiles,
): Importing<ImportResult> {
  const { file: path, format, id, skipBadLines } = session
  const name = JSON.stringify([path, format, id, skipBadLines, archive])
  const kept = files?.take(name)
  let file: OpenFile | undefined = kept
  try {
    const before = fileDigest(session, archive, kept?.bytes)
    const added = yield* catchTyped<ImportError, readonly Uint8Array[] | undefined>(() =>
      bytesAfter(before.taking(bytes), kept?.bytes),
    )
    const known = await findKnownImport(store, before.stream())
    if (known) {
      if (kept) files?.keep(name, kept)
      file = undefined
      return known
    }
    const more = kept && before.begun() === kept.digest ? added : undefined
    if (kept && !more) closeFile(kept)
    // The file may have grown since.
    const digest = more ? before : fileDigest(session, archive)
    const now = kept && more ? kept : openFile(session, archive, files && before.bytes() <= mostKept)
    file = now
    const reading = () =>
      kept && more
        ? readMore(more, kept)
        : readAny(copied({ ...session, bytes: digest.taking(bytes) }, now.copy), now.shelf)
    const { imported, reader } = yield* readAndWrite(store, path, reading, { ...now, progress })
    // A file that differs must say so each time.
    if (imported.conversations.some(({ changed, erased }) => (changed ?? erased) !== undefined))
      return imported
    await noteImport(store, digest.stream(), imported)
    const { copy, memories } = now
    const value = digest.value()
    if (!reader || value === undefined || !memories) return imported
    // Now, so that the next import need not hash what is archived already.
    copy?.hashTo(digest.bytes())
    files?.keep(name, { ...now, memories, reader, bytes: digest.bytes(), digest: value })
    file = undefined
    return imported
  } finally {
    if (file) closeFile(file)
  }
}

/** A file whose bytes can be read from the beginning each time. */
interface GivenFile extends SessionOptions {
  readonly bytes: () => OpenSession['bytes']
}

/** What is needed while a file is imported. */
interface OpenFile extends Pick<KeptFile, 'shelf' | 'copy'> {
  /** Absent if the file is not to be kept afterwards. */
  readonly memories?: ImportMemories | undefined
}

const openFile = ({ format }: SessionOptions, archive: boolean, isKept = false): OpenFile => ({
  shelf: fileShelf(),
  copy: archive && format !== 'palimpsest' ? createFileCopy() : undefined,
  ...(isKept && { memories: createImportMemories() }),
})

/** Maximum number of new bytes of a file that has grown. A file with more is read from its beginning. */
const mostAdded = 16 * 1024 * 1024

/**
 * Reads a file to its end. Returns the bytes from an offset on; undefined if it is shorter, or if there are too many.
 *
 * @param from the offset; default: none, so that no bytes are returned
 */
const bytesAfter = async (
  pieces: OpenSession['bytes'],
  from = Infinity,
): Promise<readonly Uint8Array[] | undefined> => {
  const after: Uint8Array[] = []
  let at = 0
  for await (const piece of pieces) {
    const start = Math.min(Math.max(0, from - at), piece.length)
    at += piece.length
    if (start < piece.length && at - from <= mostAdded) after.push(piece.subarray(start))
  }
  return at >= from && at - from <= mostAdded ? after : undefined
}

const readMore = async (
  more: readonly Uint8Array[],
  { reader, shelf, copy }: KeptFile,
): Promise<AnySession> => {
  for (const piece of more) copy?.add(piece)
  await reader.read(more)
  return { ...reader.finish(), shelf }
}

/** Reads a session and writes what is new, and returns the reader, if it may read what is added to the file afterwards. */
async function* readAndWrite(
  store: LayeredStore,
  file: string,
  reading: () => Promise<AnySession>,
  means: Omit<Means, 'shelf'>,
): Importing<{ readonly imported: ImportResult; readonly reader: BytesReader | undefined }> {
  const { read, shelf, reader } = yield* catchTyped<ImportError, AnySession>(reading)
  const plan = yield* unwrap(read)
  // The shelf's file is read until the last event is written.
  const writing = yield* catchTyped<ImportError, E.Either<ImportError | WriteError, ImportResult>>(() =>
    run(importPlan(store, file, plan, { ...means, shelf })),
  )
  return { imported: yield* unwrap(writing), reader }
}

/** Returns the session, whose bytes are copied as they are read. */
const copied = (
  session: SessionFile | OpenSession,
  copy: FileCopy | undefined,
): SessionFile | OpenSession => {
  if (!copy) return session
  if (isStream(session)) return { ...session, bytes: copy.taking(readFileBytes(session.file, session.bytes)) }
  copy.add(Buffer.from(session.text))
  return session
}

interface Means {
  readonly shelf: Shelf
  readonly progress: ImportOptions['progress']
  /** The bytes of the file; undefined if they are not to be archived. */
  readonly copy: FileCopy | undefined
  readonly memories?: ImportMemories | undefined
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
        ? yield* prepare(store, conversation, format, shelf, memories)
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
