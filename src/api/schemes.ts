import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { run } from '../result/fallible.ts'
import { type DiagnosisFinding, findingOf } from '../store/diagnosis.ts'
import type { FileExists, StoreError } from '../store/errors.ts'
import { memoryStore } from '../store/memory/store.ts'
import type { EventStore } from '../store/port.ts'
import {
  type OpenEventStore,
  register,
  registeredSchemes,
  type Scheme,
  schemeOf,
  schemeTaken,
  type SchemeTaken,
  type UnknownScheme,
  unknownScheme,
} from '../store/schemes.ts'
import type { BackedUpKeys } from '../store/sqlite/back-up-keys.ts'
import type { RestoredBackup, RestoredKeys } from '../store/sqlite/restore-backup.ts'
import type { KeyStore } from '../store/seal/key-store.ts'
import { type SealedUrl, splitSeal } from '../store/seal/seal-parameter.ts'
import { foreignOpen } from './foreign-store.ts'
import { lateStore } from './late.ts'
import { printableUrl } from './secrets.ts'

export type { RestoredKeys }

/** Errors of opening a store by its URL. */
export type OpenError = StoreError | InvalidInput | UnknownScheme

const storeUrls =
  'a store URL must be memory:, sqlite:path/to/file.db, esdb://host:2113 or postgres://host/database'

const noUrl = (url: string): InvalidInput => {
  const given = printableUrl(url)
  const isPath = given === url && !url.includes(':')
  return invalidInput(
    'url',
    `${storeUrls}, not ${given}${isPath ? `: for a file, write sqlite:${given}` : ''}`,
  )
}

const memory: Scheme<EventStore> = {
  open: (url) => (url === 'memory:' ? TE.fromIO(() => memoryStore()) : TE.left(noUrl(url))),
  diagnose: (url) =>
    url === 'memory:' ? TE.right([findingOf('store', 'warning', forgetful)]) : TE.left(noUrl(url)),
}

const forgetful =
  'memory: keeps everything in this process only; use a sqlite:, esdb: or postgres: store to keep it permanently'

// Drivers take longer to load than everything else, so each is loaded when it is needed.

const sqlite: Scheme<EventStore> = {
  open:
    (url, { create }) =>
    async () => {
      const { openSqlite } = await import('../store/sqlite/store.ts')
      return openSqlite(url, create)()
    },
  diagnose: (url) => async () => {
    const { diagnoseSqlite } = await import('../store/sqlite/diagnose.ts')
    return diagnoseSqlite(url)()
  },
}

/**
 * Replaces an SQLite store with a backup, or the file of keys in the URL of a store with a backup of keys, and keeps the former files
 * in a new folder. Fails with `StoreBusy` if a process has the store open, and with `InvalidInput` if there is no such file.
 */
export const restoreFile =
  (url: string, file: string): TE.TaskEither<StoreError | InvalidInput, RestoredBackup | RestoredKeys> =>
  async () => {
    const { isKeys, restoreBackup, restoreKeys } = await import('../store/sqlite/restore-backup.ts')
    const split = splitSeal(url)
    if (E.isLeft(split)) return split
    const { url: store, keys } = split.right
    if (isKeys(file))
      return keys === undefined
        ? E.left(invalidInput('url', `${file} has keys: ${namesKeys}`))
        : restoreKeys(keys, file)
    if (schemeOf(url) === undefined) return E.left(noUrl(url))
    return url.startsWith('sqlite:')
      ? restoreBackup(store, file)
      : E.left(
          invalidInput('url', 'only a sqlite: store is restored from a file: use the tools of the database'),
        )
  }

const namesKeys =
  "name the store together with its keys, like --store 'sqlite:palimpsest.db?seal=keys.db'; they are put where this URL says"

/** Backs up the file of keys at a path to a new file. */
export const backUpKeyFile =
  (keys: string, file: string): TE.TaskEither<StoreError | InvalidInput | FileExists, BackedUpKeys> =>
  async () =>
    (await import('../store/sqlite/back-up-keys.ts')).backUpKeys(keys, file)

/** Returns the error with which every write to a `sqlite:` store will fail; undefined if none is known, and for other stores. */
export const writeProblemOf = async (url: string): Promise<StoreError | InvalidInput | undefined> => {
  if (!url.startsWith('sqlite:')) return undefined
  const [{ sqliteSettings }, { writeProblem }] = await Promise.all([
    import('../store/sqlite/settings.ts'),
    import('../store/sqlite/open.ts'),
  ])
  const settings = sqliteSettings(E.getOrElse(() => ({ url }))(splitSeal(url)).url)
  return E.isLeft(settings) ? settings.left : writeProblem(settings.right)
}

const esdb: Scheme<EventStore> = {
  open: (url) => async () => {
    const { openEventStoreDb } = await import('../store/eventstoredb/store.ts')
    return openEventStoreDb(url)()
  },
  diagnose: (url) => async () => {
    const { diagnoseEventStoreDb } = await import('../store/eventstoredb/diagnose.ts')
    return diagnoseEventStoreDb(url)()
  },
}

const postgres: Scheme<EventStore> = {
  open:
    (url, { create }) =>
    async () => {
      const { openPostgres } = await import('../store/postgres/store.ts')
      return openPostgres(url, create)()
    },
  diagnose: (url) => async () => {
    const { diagnosePostgres } = await import('../store/postgres/diagnose.ts')
    return diagnosePostgres(url)()
  },
}

/**
 * Built-in URL schemes. The copies of the library in a process do not share them, because another version may store data differently.
 */
const builtIn: ReadonlyMap<string, Scheme<EventStore>> = new Map([
  ['memory', memory],
  ['sqlite', sqlite],
  ['esdb', esdb],
  ['esdb+discover', esdb],
  ['kurrentdb', esdb],
  ['kurrentdb+discover', esdb],
  ['postgres', postgres],
  ['postgresql', postgres],
])

/**
 * Registers a user-defined URL scheme for the whole process, so that `openStore`, `copyConversations` and the command line can open its
 * URLs. Registering the same functions again changes nothing.
 *
 * Errors: `SchemeTaken`; `InvalidInput` if the name of the scheme is invalid (two or more of a–z 0–9 + . -, a letter first).
 *
 * @param diagnose function that `palimpsest doctor` runs; by default, doctor opens the store and checks its `integrity`
 */
export const registerStore = (
  scheme: string,
  open: OpenEventStore,
  diagnose?: Scheme['diagnose'],
): E.Either<SchemeTaken | InvalidInput, void> =>
  builtIn.has(scheme)
    ? E.left(schemeTaken(scheme))
    : register(scheme, { open, ...(diagnose && { diagnose }) })

const schemeFor = (url: string): E.Either<InvalidInput | UnknownScheme, Scheme<EventStore>> => {
  const name = schemeOf(url)
  if (name === undefined) return E.left(noUrl(url))
  const own = registeredSchemes().get(name)
  const scheme = builtIn.get(name) ?? (own && { ...own, open: foreignOpen(own.open) })
  const names = new Set([...builtIn.keys(), ...registeredSchemes().keys()])
  return scheme ? E.right(scheme) : E.left(unknownScheme(name, [...names].toSorted()))
}

/** Handling of a missing store: true creates it, false fails with `StoreNotFound`, and `'late'` creates it on the first write. */
export type Creation = boolean | 'late'

/** Opens an event store by its URL, without the layers on top of the adapter. */
export const openAdapter = (
  given: string,
  create: Creation,
  keys?: string | KeyStore,
): TE.TaskEither<OpenError, EventStore> =>
  pipe(
    TE.fromEither<OpenError, SealedUrl>(splitSeal(given)),
    TE.flatMap(({ url, keys: own }) =>
      pipe(
        TE.fromEither<OpenError, Scheme<EventStore>>(schemeFor(url)),
        TE.flatMap(({ open }) => (create === 'late' ? openLate(url, open) : open(url, { create }))),
        TE.flatMap(addSeal(keys ?? own)),
      ),
    ),
  )

/** Returns a function that seals a store, if there are keys. */
export const addSeal =
  (keys: string | KeyStore | undefined) =>
  (store: EventStore): TE.TaskEither<StoreError, EventStore> =>
    keys === undefined
      ? TE.right(store)
      : async () => (await import('../store/seal/open-keys.ts')).sealWith(keys)(store)()

const openLate = (url: string, open: OpenEventStore<EventStore>): TE.TaskEither<OpenError, EventStore> =>
  pipe(
    open(url, { create: false }),
    TE.orElse((error): ReturnType<OpenEventStore<EventStore>> => {
      if (error._tag !== 'StoreNotFound') return TE.left(error)
      const { store } = error
      const opening = (create: boolean): TE.TaskEither<StoreError, EventStore> =>
        pipe(open(url, { create }), TE.mapLeft(ofStore(store)))
      return TE.right(lateStore(opening(false), opening(true), store))
    }),
  )

/**
 * Converts an error from opening a store to a `StoreError`. `InvalidInput` becomes `StoreUnavailable`, because the same URL was valid
 * at the first attempt.
 */
const ofStore =
  (store: string) =>
  (error: StoreError | InvalidInput): StoreError =>
    error._tag === 'InvalidInput'
      ? { _tag: 'StoreUnavailable', message: error.message, store, cause: error }
      : error

/** Diagnoses a store and suggests fixes, without changing the store. */
export const diagnose = (
  given: string,
): TE.TaskEither<InvalidInput | UnknownScheme, readonly DiagnosisFinding[]> =>
  pipe(
    TE.fromEither<InvalidInput | UnknownScheme, SealedUrl>(splitSeal(given)),
    TE.flatMap(({ url, keys }) =>
      pipe(
        TE.fromEither<InvalidInput | UnknownScheme, Scheme<EventStore>>(schemeFor(url)),
        TE.flatMap((scheme) => scheme.diagnose?.(url) ?? TE.fromTask(() => diagnoseByOpening(url, scheme))),
        TE.chainTaskK(
          (findings) => async () =>
            keys === undefined ? findings : [...findings, await diagnoseKeys(given)],
        ),
      ),
    ),
  )

/** Opens a store with its keys. */
const diagnoseKeys = async (url: string): Promise<DiagnosisFinding> => {
  const opened = await openAdapter(url, false)()
  if (E.isLeft(opened)) return findingOf('keys', 'problem', opened.left.message)
  const { countMissingKeys } = await import('../store/seal/missing-keys.ts')
  const counted = await run(countMissingKeys(opened.right, countingTime))
  await opened.right.close()()
  if (E.isLeft(counted)) return findingOf('keys', 'problem', counted.left.message)
  const { conversations, missing, ids, isAll } = counted.right
  const looked = isAll ? '' : ` (of the first ${conversations}; there was no time for more)`
  return missing === 0
    ? findingOf('keys', 'ok', `the keys are those with which the store is sealed${looked}`)
    : findingOf(
        'keys',
        'problem',
        `the keys of ${missing} of ${conversations} conversations are missing${looked}, as of ${ids.join(', ')}: an older copy of the keys was put back, or a part of them was lost. Stop what uses the store, and put back the newest copy of the keys. If palimpsest list still says "key missing" then, the content of these conversations is lost, unless another copy has their keys`,
      )
}

/** Time for counting conversations whose keys are missing, in milliseconds. */
const countingTime = 20_000

const diagnoseByOpening = async (url: string, { open }: Scheme): Promise<readonly DiagnosisFinding[]> => {
  const opened = await open(url, { create: false })()
  if (E.isLeft(opened)) return [findingOf('connection', 'problem', opened.left.message)]
  const store = opened.right
  const whole = store.integrity ? await store.integrity()() : undefined
  await store.close()()
  const integrity =
    whole &&
    (E.isLeft(whole)
      ? findingOf('integrity', 'problem', whole.left.message)
      : findingOf('integrity', 'ok', 'nothing is damaged'))
  return [findingOf('connection', 'ok', `${store.url} opens`), ...(integrity ? [integrity] : [])]
}
