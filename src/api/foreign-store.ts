import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { toError } from '../result/typed.ts'
import { outcomeUnknown, type StoreError, storeFaulty } from '../store/errors.ts'
import type { AppendRequest, AppendOutcome, EventStore } from '../store/port.ts'
import type { OpenEventStore } from '../store/schemes.ts'
import {
  changedFault,
  countFault,
  endFault,
  eventsFault,
  foundFault,
  isEither,
  isTagged,
  namesFault,
  pageFault,
} from './foreign-answers.ts'
import { withoutSecrets } from './secrets.ts'

/**
 * A store of somebody's own, whose answers are what the port promises: anything else is `StoreFaulty`, or for an append `OutcomeUnknown`.
 * What it throws as an `Error` without a tag is a bug of its own, and stays what it is.
 */
export const foreignStore = (store: EventStore): EventStore => {
  const { url, blobs, maxAppendBytes, integrity, backup, liveness } = store
  const faulty = (method: string) => (what: string, answer: unknown) => storeFaulty(url, method, what, answer)
  const asked = <Err, A>(
    method: string,
    task: () => TaskEither<Err, A>,
    faultIn: (answer: A) => string | undefined = () => undefined,
  ): TaskEither<Err | StoreError, A> => answered(task, faultIn, faulty(method))

  return {
    url,
    maxAppendBytes,
    append: (request) => answered(() => store.append(request), wordFault, unknownOutcome(url, request)),
    read: (range) => asked('read', () => store.read(range), eventsFault),
    find: (stream, id) => asked('find', () => store.find(stream, id), foundFault),
    count: (stream, type, through) => asked('count', () => store.count(stream, type, through), countFault),
    keptEnd: (stream) => asked('keptEnd', () => store.keptEnd(stream), endFault),
    streams: (prefix, after, limit) =>
      asked(
        'streams',
        () => store.streams(prefix, after, limit),
        (names) => namesFault(names, [prefix], after),
      ),
    newest: (prefixes, before, limit) =>
      asked(
        'newest',
        () => store.newest(prefixes, before, limit),
        (names) => namesFault(names, prefixes, before),
      ),
    changed: (prefix, since) => asked('changed', () => store.changed(prefix, since), changedFault),
    readAll: (range) =>
      asked(
        'readAll',
        () => store.readAll(range),
        (page) => pageFault(page, range.after),
      ),
    follow: (options) => iterated(() => store.follow(options), faulty('follow')),
    blobs: {
      put: (sha256, chunks) => asked('blobs.put', () => blobs.put(sha256, chunks)),
      get: (sha256) => iterated(() => blobs.get(sha256), faulty('blobs.get')),
      list: () => iterated(() => blobs.list(), faulty('blobs.list')),
      remove: (sha256, before) => asked('blobs.remove', () => blobs.remove(sha256, before)),
    },
    ...(integrity && { integrity: () => asked('integrity', () => integrity.call(store)) }),
    ...(backup && {
      backup: (file, options) => asked('backup', () => backup.call(store, file, options)),
    }),
    ...(liveness && { liveness }),
    close: () => asked('close', () => store.close()),
  }
}

/** A function that opens stores of somebody's own, whose failures are errors. */
export const foreignOpen =
  (open: OpenEventStore): OpenEventStore =>
  (url, options) =>
    answered(
      () => open(url, options),
      () => undefined,
      (what, answer) => storeFaulty(withoutSecrets(url), 'open', what, answer),
    )

const noError = 'which is no error with a _tag and a message'

type Faulty = (what: string, answer: unknown) => StoreError

const answered =
  <Err, A>(
    task: () => TaskEither<Err, A>,
    faultIn: (answer: A) => string | undefined,
    faulty: Faulty,
  ): TaskEither<Err | StoreError, A> =>
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

/** The events may be there, whatever it answered. */
const unknownOutcome =
  (url: string, { stream, events }: AppendRequest): Faulty =>
  (what, answer) => {
    const ids = events.map(({ id }) => id)
    const unknown = outcomeUnknown(stream, ids, answer)
    return { ...unknown, message: `append of ${url} ${what}; ${unknown.message}` }
  }

const longest = 200

/** On one line, without what may be a password. */
const shown = (value: unknown): string => {
  const told =
    value instanceof Error
      ? String(value)
      : inspect(value, { depth: 1, breakLength: Infinity, maxArrayLength: 3, maxStringLength: longest })
  const text = withoutSecrets(told).replaceAll(/\s+/g, ' ')
  return text.length > longest ? `${text.slice(0, longest).toWellFormed()}…` : text
}
