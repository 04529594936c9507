import type * as E from 'fp-ts/lib/Either.js'
import { copyConversations, openStore } from 'palimpsest'
import * as fp from 'palimpsest/fp'
import { expect, test } from 'vitest'
import { openStore as openTask } from '../../src/api/open.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { scale } from '../support/runs.ts'

// Whatever JSON or a careless caller can pass at any place: a typed error, or an answer that makes sense; and the store goes on.

type Anything = unknown
type Method = (...args: readonly Anything[]) => Anything
type Methods = { readonly [name: string]: Method }

const hello = { role: 'user', content: 'x' } as const
const model = {
  call: async () => ({ content: [{ type: 'text', text: 'y' }], stopReason: 'end_turn', usage: {} }),
  countTokens: async () => 5,
}

const values: readonly (readonly [string, () => Anything])[] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['NaN', () => Number.NaN],
  ['-1', () => -1],
  ['0', () => 0],
  ['0.5', () => 0.5],
  ['Infinity', () => Infinity],
  ['2 ** 53', () => 2 ** 53],
  ['1e300', () => 1e300],
  ['a bigint', () => 1n],
  ['an empty string', () => ''],
  ['a string', () => 'x'],
  ['a number as text', () => '1'],
  ['a broken string', () => '\ud800\u0000'],
  ['true', () => true],
  ['false', () => false],
  ['a symbol', () => Symbol('s')],
  ['a function', () => () => 5],
  ['an empty list', () => []],
  ['a list of null', () => [null]],
  ['a list of holes', () => Object.assign([], { length: 2 ** 32 - 1 })],
  ['an object', () => ({})],
  ['an object of null', () => Object.assign(Object.create(null), { a: null })],
  ['a boxed number', () => Object(1)],
  ['a date that is none', () => new Date(Number.NaN)],
  ['a date beyond', () => new Date(8.64e15)],
  ['a map', () => new Map([[1, 2]])],
  ['bytes', () => Buffer.from('x')],
  ['an error', () => new Error('x')],
]

const conversationOf = ({ conversation }: Methods, id: Anything): Methods =>
  (conversation?.(id) ?? {}) as Methods

/** Every place of an argument: the method, and the arguments with the value in that place. */
type Place = readonly [
  place: string,
  on: 'store' | 'chat' | 'library',
  call: (api: Methods, value: Anything) => Anything,
]

const options = (
  on: 'store' | 'chat' | 'library',
  method: string,
  names: readonly string[],
  rest: (given: object) => readonly Anything[] = (given) => [given],
): readonly Place[] =>
  names.map((name) => [`${method}, ${name}`, on, (api, value) => api[method]?.(...rest({ [name]: value }))])
const plain = (on: 'store' | 'chat' | 'library', method: string): Place => [
  method,
  on,
  (api, value) => api[method]?.(value),
]
const envelope = ['after', 'tolerate', 'commandId', 'actor', 'now', 'correlationId', 'causationId', 'unknown']
const selection = ['fraction', 'keepFirst', 'keepLast', 'keepTokens', 'covers']
const file = { text: JSON.stringify([hello]), file: 'f.json', id: 'imported' }
const turning = { client: model, model: 'm' }

const places: readonly Place[] = [
  ...[
    'append',
    'configure',
    'condense',
    'truncate',
    'restore',
    'rewind',
    'undo',
    'execute',
    'preview',
    'fork',
    'effective',
    'context',
    'full',
    'render',
    'diff',
    'timeline',
    'events',
    'stored',
    'verify',
    'position',
    'turn',
    'tokens',
    'calls',
    'sent',
    'verifyReceipts',
  ].map((name) => plain('chat', name)),
  ...['readAll', 'follow', 'gc', 'importSession', 'conversations', 'check', 'backup'].map((name) =>
    plain('store', name),
  ),
  ...['openStore', 'copyConversations'].map((name) => plain('library', name)),
  ...['effective', 'append', 'events', 'stored'].map((name): Place => [
    `a conversation id, ${name}`,
    'store',
    (store, id) => conversationOf(store, id)[name]?.(name === 'append' ? hello : undefined),
  ]),
  ['append, options', 'chat', (chat, value) => chat['append']?.(hello, value)],
  ['append, block', 'chat', (chat, value) => chat['append']?.({ role: 'user', content: [value] })],
  [
    'append, text',
    'chat',
    (chat, text) => chat['append']?.({ role: 'user', content: [{ type: 'text', text }] }),
  ],
  ...options('chat', 'append', ['role', 'content', 'messageId', 'origin', 'sealed', 'unknown'], (given) => [
    { ...hello, ...given },
  ]),
  ...options('chat', 'append', ['model', 'stopReason', 'usage', 'requestId', 'context'], (origin) => [
    { ...hello, origin },
  ]),
  ...options('chat', 'append', [...envelope, 'branchAt', 'rewindTo', 'again'], (given) => [hello, given]),
  ...options('chat', 'configure', ['system', 'tools', 'model', 'parameters', ...envelope]),
  ...options('chat', 'condense', ['summary', 'method', 'origin', ...selection, ...envelope], (given) => [
    { summary: 's', ...given },
  ]),
  ...options('chat', 'truncate', ['reason', ...selection, ...envelope]),
  ...options('chat', 'truncate', ['first', 'last'], (covers) => [{ covers }]),
  ...options('chat', 'restore', ['marker', ...envelope]),
  ...options('chat', 'rewind', ['to', 'before', 'turns', ...envelope]),
  ...options('chat', 'undo', ['reason', ...envelope]),
  ...options('chat', 'execute', ['type', 'messages', 'unknown', ...envelope], (given) => [
    { type: 'append', messages: [hello], ...given },
  ]),
  ['fork, options', 'chat', (chat, value) => chat['fork']?.('forked', value)],
  ...options('chat', 'fork', ['at', ...envelope], (given) => ['forked', given]),
  ...['effective', 'context', 'timeline'].flatMap((name) => options('chat', name, ['at', 'unknown'])),
  ...options('chat', 'full', ['at', 'abandoned', 'unknown']),
  ...options('chat', 'render', ['at', 'thinking', 'mode', 'cache', 'systemMessages', 'unknown']),
  ...options('chat', 'diff', ['from', 'to', 'unknown'], (given) => [{ from: 0, ...given }]),
  ...options('chat', 'events', ['from', 'to', 'follow', 'signal', 'unknown']),
  ...options('chat', 'events', ['to', 'signal'], (given) => [{ follow: true, ...given }]),
  ...options('chat', 'verify', ['file', 'unknown']),
  ...options('chat', 'tokens', ['at', 'client', 'model', 'unknown']),
  ...options('chat', 'tokens', ['model'], (given) => [{ client: model, ...given }]),
  ...options(
    'chat',
    'turn',
    [
      'client',
      'model',
      'system',
      'tools',
      'run',
      'parameters',
      'context',
      'summarizer',
      'cache',
      'systemMessages',
      'toolTimeout',
      'stallTimeout',
      'maxRetries',
      'maxCalls',
      'signal',
      'keepPartial',
      'keepLate',
      'onEvent',
      'unknown',
    ],
    (given) => [{ ...turning, ...given }],
  ),
  ...options(
    'chat',
    'turn',
    [
      'window',
      'reserved',
      'condenseAt',
      'automatic',
      'keepFirst',
      'keepLast',
      'maxOutput',
      'maxResult',
      'unknown',
    ],
    (context) => [{ ...turning, context }],
  ),
  ...options(
    'chat',
    'turn',
    ['model', 'window', 'maxTokens', 'instructions', 'parameters', 'unknown'],
    (given) => [{ ...turning, summarizer: given }],
  ),
  ...options('store', 'readAll', ['after', 'unknown']),
  ...options('store', 'follow', ['after', 'prefixes', 'signal', 'unknown']),
  ['follow, prefix', 'store', (store, prefix) => store['follow']?.({ prefixes: [prefix] })],
  ...options('store', 'gc', ['olderThan', 'dryRun', 'unknown']),
  ...options(
    'store',
    'importSession',
    ['text', 'bytes', 'file', 'id', 'format', 'skipBadLines', 'unknown'],
    (given) => [{ ...file, ...given }],
  ),
  ['importSession, options', 'store', (store, value) => store['importSession']?.(file, value)],
  ...options('store', 'importSession', ['progress', 'unknown'], (given) => [file, given]),
  ['openStore, options', 'library', (library, value) => library['openStore']?.('memory:', value)],
  ...options('library', 'openStore', ['actor', 'create', 'largeContent', 'unknown'], (given) => [
    'memory:',
    given,
  ]),
  ...options('library', 'openStore', ['kind', 'id'], (actor) => [
    'memory:',
    { actor: { kind: 'a', ...actor } },
  ]),
  ...options('library', 'copyConversations', ['from', 'to', 'ids', 'progress', 'unknown'], (given) => [
    { from: 'memory:', to: 'memory:', ...given },
  ]),
  [
    'copyConversations, id',
    'library',
    (library, id) => library['copyConversations']?.({ from: 'memory:', to: 'memory:', ids: [id] }),
  ],
]

/** The outcome of whatever a method gives: a promise, a task, or what can be iterated, of which the first item is asked for. */
const outcomeOf = async (given: Anything): Promise<Anything> => {
  const answer =
    typeof given === 'function' ? await (given as () => Promise<E.Either<Anything, Anything>>)() : await given
  if (
    typeof answer === 'object' &&
    answer !== null &&
    '_tag' in answer &&
    answer._tag === 'Left' &&
    'left' in answer
  )
    throw answer.left
  if (typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer) {
    for await (const _ of answer as AsyncIterable<Anything>) break
  }
  return answer
}

/** What is wrong with how a call ended, if anything is. */
const complaint = async (call: () => Anything): Promise<string | undefined> => {
  const late = new Promise<string>((resolve) => setTimeout(resolve, 300_000, 'it hangs').unref())
  let given: Anything
  try {
    given = call()
  } catch (error) {
    return `it throws ${String(error)}`
  }
  const ended = outcomeOf(given).then(
    () => undefined,
    (error: unknown) => {
      const { _tag, message } = (error ?? {}) as { readonly _tag?: unknown; readonly message?: unknown }
      const isTyped = typeof _tag === 'string' && typeof message === 'string' && message.length > 5
      return isTyped
        ? undefined
        : `it fails with ${String(error)} ${(error as Error).stack?.split('\n')[1] ?? ''}`
    },
  )
  return Promise.race([ended, late])
}

const isRead =
  /^(effective|view|full|render|diff|timeline|events|stored|verify|position|tokens|calls|sent|openStore|copy|readAll|follow|conversations|gc|check|backup)/

test.each(['promises', 'tasks'] as const)(
  'no argument of any method makes it fail untyped, hang, or break the store: %s',
  async (kind) => {
    const complaints: string[] = []
    const fresh = async (): Promise<{ readonly store: Methods; readonly chat: Methods }> => {
      const store = kind === 'promises' ? await openStore('memory:') : right(await openTask('memory:')())
      atEnd(async () => outcomeOf(store.close()))
      const chat = store.conversation('c')
      await outcomeOf(chat.append([hello, { role: 'assistant', content: 'y' }, hello]))
      return { store: store as unknown as Methods, chat: chat as unknown as Methods }
    }
    const library = (kind === 'promises' ? { openStore, copyConversations } : fp) as unknown as Methods
    let shared = await fresh()
    // Of tasks, which promises are made of, a third of the values at each place, other ones at the next; in deep runs of promises all.
    const share = kind === 'tasks' ? 3 : scale < 1 ? 2 : 1
    for (const [index, [place, on, call]] of places.entries()) {
      if (kind === 'tasks' && /^(turn|tokens|calls|sent|verifyReceipts)/.test(place)) continue
      for (const [name, value] of values.filter((_, n) => (n + index) % share === 0)) {
        const { store, chat } = shared
        const api = { store, chat, library }[on]
        const wrong = await complaint(() => call(api, value()))
        if (wrong !== undefined) complaints.push(`${place} = ${name}: ${wrong}`)
        const broken = await complaint(() => chat['append']?.(hello))
        if (broken !== undefined) complaints.push(`after ${place} = ${name}: ${broken}`)
        if (!isRead.test(place)) shared = await fresh()
      }
    }
    expect(complaints).toEqual([])
  },
)
