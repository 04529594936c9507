import { describe, expect, test } from 'vitest'
import { copyConversations, openStore } from '../../src/index.ts'
import { replay } from '../../src/investigate/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'

const hello = { role: 'user' as const, content: 'Hello.' }
const store = await openStore('memory:')
const chat = store.conversation('c')
await chat.append(hello)
const client = { call: () => Promise.reject(new Error('is never asked')) } as never

const firstOf = (items: AsyncIterable<unknown>): Promise<unknown> => items[Symbol.asyncIterator]().next()

/** Each with one option whose name is misspelt. */
const misspelt: readonly (readonly [string, string, string, (options: never) => Promise<unknown>])[] = [
  ['effective', 'att', 'at', chat.effective],
  ['context', 'At', 'at', chat.context],
  ['full', 'abandonned', 'abandoned', chat.full],
  ['render', 'cach', 'cache', chat.render],
  ['diff', 'form', 'from', chat.diff],
  ['timeline', 'aat', 'at', chat.timeline],
  ['events', 'folow', 'follow', (options) => firstOf(chat.events(options))],
  ['verify', 'files', 'file', chat.verify],
  ['notes', 'knid', 'kind', chat.notes],
  ['note', 'comandId', 'commandId', (options) => chat.note({ kind: 'test/x' }, options)],
  ['tokens', 'modle', 'model', chat.tokens],
  ['append', 'afer', 'after', (options) => chat.append(hello, options)],
  ['append', 'rewindto', 'rewindTo', (options) => chat.append(hello, options)],
  ['truncate', 'keepfirst', 'keepFirst', chat.truncate],
  ['undo', 'reasons', 'reason', chat.undo],
  ['fork', 'att', 'at', (options) => chat.fork('d', options)],
  ['turn', 'sistem', 'system', (options) => chat.turn({ client, model: 'm', ...(options as object) })],
  ['turn, context', 'windwo', 'window', (context) => chat.turn({ client, model: 'm', context })],
  ['conversations', 'sorted', 'sort', (options) => firstOf(store.conversations(options))],
  ['readAll', 'affter', 'after', (options) => firstOf(store.readAll(options))],
  ['follow', 'prefix', 'prefixes', (options) => firstOf(store.follow(options))],
  ['gc', 'dryrun', 'dryRun', store.gc],
  ['importSession', 'progres', 'progress', (o) => store.importSession({ text: '[]', file: 'f' }, o)],
  [
    'importSession, the session',
    'fromat',
    'format',
    (more) => store.importSession({ text: '[]', file: 'f', ...(more as object) }),
  ],
  ['openStore', 'creat', 'create', (options) => openStore('memory:', options)],
  [
    'copyConversations',
    'progresss',
    'progress',
    (options) => copyConversations({ from: memoryStore(), to: memoryStore(), ...(options as object) }),
  ],
]

describe('a misspelt option', () => {
  test.each(misspelt)('of %s: %s, is named, with %s, which was meant', async (method, name, meant, call) => {
    const error = await call({ [name]: 1 } as never).then(
      () => undefined,
      (refused: unknown) => refused,
    )
    expect(error).toMatchObject({
      _tag: 'InvalidInput',
      path: method === 'turn, context' ? `context.${name}` : name,
      message: expect.stringMatching(new RegExp(`did you mean ${meant}\\?$`)),
    })
  })

  test('that is misspelt, wherever it is, is named rather than the one that is missing', async () => {
    for (const [policy, path, meant] of [
      [{ contxt: { window: 50_000 } }, 'policy.contxt', 'context'],
      [{ context: { windw: 50_000 } }, 'policy.context.windw', 'window'],
      [
        { context: { window: 50_000 }, clearResults: { keeplst: 1 } },
        'policy.clearResults.keeplst',
        'keepLast',
      ],
    ] as const)
      await expect(replay(chat, { policy: policy as never })).rejects.toMatchObject({
        path,
        message: `${path}: is unknown: did you mean ${meant}?`,
      })
  })

  test('that is like none of those that there are is told all of them', async () => {
    await expect(chat.full({ colour: true } as never)).rejects.toThrow(
      'is unknown: expected one of at, abandoned',
    )
  })

  test('with the value undefined is not there', async () => {
    expect(await chat.effective({ attt: undefined } as never)).toHaveLength(1)
  })

  test('that no cache lives as long as is named, and so is every other value of a wrong kind', async () => {
    await expect(chat.render({ cache: '10m' } as never)).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'cache',
      message: 'cache: must be one of 5m, 1h',
    })
    await expect(chat.full({ abandoned: 'yes' } as never)).rejects.toMatchObject({ path: 'abandoned' })
  })
})
