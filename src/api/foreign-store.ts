import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { InvalidInput } from '../events/errors.ts'
import { toError } from '../result/typed-error.ts'
import { blobInfo } from '../store/blob-info.ts'
import { completeStore } from '../store/complete-store.ts'
import { outcomeUnknown, type StoreError, storeFaulty } from '../store/errors.ts'
import type { AppendRequest, AppendOutcome, EventStore, StoreAdapter } from '../store/port.ts'
import { ownStore } from '../store/own-store.ts'
import type { OpenEventStore } from '../store/schemes.ts'
import {
  changesFault,
  countFault,
  endFault,
  eventsFault,
  findFault,
  isEither,
  isTagged,
  namesFault,
  pageFault,
  setFault,
} from './foreign-answers.ts'
import { withoutSecrets } from './secrets.ts'

/**
 * Turns a user-defined store into a complete `EventStore` and checks every answer of that store. An answer that violates the port
 * becomes `StoreFaulty`, or `OutcomeUnknown` for an append. An `Error` without a tag is a bug in the user-defined store and is rethrown
 * unchanged. Errors: `InvalidInput`, whose path names the missing member.
 */
export const foreignStore = (store: StoreAdapter): E.Either<InvalidInput, EventStore> =>
  pipe(
    ownStore(store),
    E.map((adapter) => completeStore(checkedAdapter(adapter))),
  )

const checkedAdapter = (store: StoreAdapter): StoreAdapter => {
  const { url, blobs, maxAppendBytes, find, count, keptEnd, streams, newest, neverBegun, changed } = store
  const { integrity, backup, scrub, rewrite, liveness } = store
  const faulty = (method: string) => (what: string, answer: unknown) => storeFaulty(url, method, what, answer)
  const asked = <Err, A>(
    method: string,
    task: () => TE.TaskEither<Err, A>,
    faultIn: (answer: A) => string | undefined = () => undefined,
  ): TE.TaskEither<Err | StoreError, A> => answered(task, faultIn, faulty(method))

  return {
    url,
    ...(maxAppendBytes !== undefined && { maxAppendBytes }),
    append: (request) => answered(() => store.append(request), wordFault, unknownOutcome(url, request)),
    read: (range) => asked('read', () => store.read(range), eventsFault),
    readAll: (range) =>
      asked(
        'readAll',
        () => store.readAll(range),
        (page) => pageFault(page, range.after),
      ),
    follow: (options) => iterated(() => store.follow(options), faulty('follow')),
    ...(find && { find: (...of) => asked('find', () => find(...of), findFault) }),
    ...(count && { count: (...of) => asked('count', () => count(...of), countFault) }),
    ...(keptEnd && { keptEnd: (stream) => asked('keptEnd', () => keptEnd(stream), endFault) }),
    ...(streams && {
      streams: (prefix, after, limit) =>
        asked(
          'streams',
          () => streams(prefix, after, limit),
          (names) => namesFault(names, [prefix], after),
        ),
    }),
    ...(newest && {
      newest: (prefixes, before, limit) =>
        asked(
          'newest',
          () => newest(prefixes, before, limit),
          (names) => namesFault(names, prefixes, before),
        ),
    }),
    ...(neverBegun && {
      neverBegun: (names) => asked('neverBegun', () => neverBegun(names), setFault),
    }),
    ...(changed && {
      changed: (prefix, since) => asked('changed', () => changed(prefix, since), changesFault),
    }),
    ...(blobs && {
      blobs: {
        put: (sha256, chunks) => asked('blobs.put', () => blobs.put(sha256, chunks)),
        get: (sha256) => iterated(() => blobs.get(sha256), faulty('blobs.get')),
        list: () => iterated(() => blobs.list(), faulty('blobs.list')),
        remove: (sha256, before) => asked('blobs.remove', () => blobs.remove(sha256, before)),
        info: (sha256) => asked('blobs.info', () => blobInfo(blobs, sha256)),
      },
    }),
    ...(integrity && { integrity: () => asked('integrity', () => integrity()) }),
    ...(backup && {
      backup: (file, options) => asked('backup', () => backup(file, options)),
    }),
    ...(scrub && { scrub: () => asked('scrub', () => scrub()) }),
    ...(rewrite && { rewrite: (options) => asked('rewrite', () => rewrite(options)) }),
    ...(liveness && { liveness }),
    close: () => asked('close', () => store.close()),
  }
}

/** Wraps a user-defined `open` function so that it returns complete stores and fails with typed errors. */
export const foreignOpen =
  (open: OpenEventStore): OpenEventStore<EventStore> =>
  (url, options) =>
    pipe(
      answered(
        () => open(url, options),
        () => undefined,
        (what, answer) => storeFaulty(withoutSecrets(url), 'open', what, answer),
      ),
      TE.flatMapEither(foreignStore),
    )

const noError = 'which is not an error with a _tag and a message'

type Faulty = (what: string, answer: unknown) => StoreError

const answered =
  <Err, A>(
    task: () => TE.TaskEither<Err, A>,
    faultIn: (answer: A) => string | undefined,
    faulty: Faulty,
  ): TE.TaskEither<Err | StoreError, A> =>
  async () => {
    try {
      const answer = await task()()
      if (!isEither(answer))
        return E.left(faulty(`answered ${shown(answer)}, which is neither E.left nor E.right`, answer))
      if (E.isLeft(answer))
        return isTagged(answer.left)
          ? answer
          : E.left(faulty(`failed with ${shown(answer.left)}, ${noError}`, answer.left))
      const fault = faultIn(answer.right)
      return fault === undefined
        ? answer
        : E.left(faulty(`answered ${shown(answer.right)}, ${fault}`, answer.right))
    } catch (thrown) {
      if (thrown instanceof Error) throw thrown
      return E.left(faulty(`threw ${shown(thrown)}, ${noError}`, thrown))
    }
  }

async function* iterated<A>(items: () => AsyncIterable<A>, faulty: Faulty): AsyncGenerator<A, void> {
  try {
    yield* items()
  } catch (thrown) {
    if (thrown instanceof Error) throw thrown
    throw toError(isTagged(thrown) ? thrown : faulty(`threw ${shown(thrown)}, ${noError}`, thrown))
  }
}

const words: ReadonlySet<unknown> = new Set<AppendOutcome>(['written', 'repeated', 'taken'])

const wordFault = (word: AppendOutcome): string | undefined =>
  words.has(word) ? undefined : "which is not 'written', 'repeated' or 'taken'"

/**
 * Returns a function that creates the `OutcomeUnknown` error for an invalid answer to an append, because the events may have been
 * stored despite the invalid answer.
 */
const unknownOutcome =
  (url: string, { stream, events }: AppendRequest): Faulty =>
  (what, answer) => {
    const ids = events.map(({ id }) => id)
    const unknown = outcomeUnknown(stream, ids, answer)
    return { ...unknown, message: `append of ${url} ${what}; ${unknown.message}` }
  }

const longest = 200

/** Formats a value for an error message, on one line and without possible passwords. */
const shown = (value: unknown): string => {
  const told =
    value instanceof Error
      ? String(value)
      : inspect(value, { depth: 1, breakLength: Infinity, maxArrayLength: 3, maxStringLength: longest })
  const text = withoutSecrets(told).replaceAll(/\s+/g, ' ')
  return text.length > longest ? `${text.slice(0, longest).toWellFormed()}…` : text
}
