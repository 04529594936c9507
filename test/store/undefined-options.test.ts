import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { copyConversations, openStore, type Store } from '../../src/index.ts'
import { text } from '../support/log.ts'

/** All of these are options that may be left out, and all are undefined. */
const none = <const N extends string>(...names: readonly N[]): { readonly [K in N]: undefined } =>
  Object.fromEntries(names.map((name) => [name, undefined])) as { readonly [K in N]: undefined }

const envelope = none('commandId', 'actor', 'now', 'correlationId', 'causationId')
const fence = { ...envelope, ...none('after', 'tolerate') }
const client = {
  call: async () => E.right({ content: [text('Yes.')], origin: {} }),
  countTokens: async () => E.right(1),
}
const context = none('window', 'maxOutput', 'reserved', 'buffer', 'automatic', 'percentage', 'target')
const summarizer = none('model', 'window', 'maxTokens', 'instructions', 'images', 'deadline', 'pinned')
const turn = {
  ...none('system', 'tools', 'run', 'parameters', 'cache', 'systemMessages', 'toolTimeout'),
  context,
}
const limits = none('maxResult', 'stallTimeout', 'maxRetries', 'maxCalls', 'signal', 'onEvent', 'keepLate')
const slice = none('fraction', 'keepFirst', 'keepLast', 'keepTokens', 'covers')

const firstOf = (items: AsyncIterable<unknown>): Promise<unknown> => items[Symbol.asyncIterator]().next()

/** What each method answers with options that are all undefined, and without any. */
const pairs: Readonly<Record<string, (store: Store) => readonly Promise<unknown>[]>> = {
  effective: (store) => [store.conversation('c').effective(none('at')), store.conversation('c').effective()],
  full: (store) => [
    store.conversation('c').full(none('at', 'abandoned', 'last', 'before', 'notes')),
    store.conversation('c').full(),
  ],
  render: (store) => [
    store.conversation('c').render(none('at', 'systemMessages', 'prefill', 'truncationNotes', 'cache')),
    store.conversation('c').render(),
  ],
  events: (store) => [
    firstOf(store.conversation('c').events(none('from', 'to', 'follow', 'signal'))),
    firstOf(store.conversation('c').events()),
  ],
  verify: (store) => [store.conversation('c').verify(none('file')), store.conversation('c').verify()],
  tokens: (store) => [
    store.conversation('c').tokens(none('at', 'client', 'model')),
    store.conversation('c').tokens(),
  ],
  notes: (store) => [store.conversation('c').notes(none('kind', 'last')), store.conversation('c').notes()],
  conversations: (store) => [
    firstOf(store.conversations(none('sort', 'beginning'))),
    firstOf(store.conversations()),
  ],
  readAll: (store) => [firstOf(store.readAll(none('after'))), firstOf(store.readAll())],
  gc: (store) => [store.gc(none('olderThan', 'dryRun')), store.gc()],
}

describe('an option that is undefined is one that is left out', () => {
  test.each(Object.keys(pairs))('by %s', async (name) => {
    const store = await openStore('memory:', none('actor', 'create', 'largeContent'))
    await store.conversation('c').append({ role: 'user', content: 'Hello.' })
    const [given, without] = await Promise.all(pairs[name]?.(store) ?? [])
    expect(given).toEqual(without)
    expect(given).toBeDefined()
  })

  test('by what writes: the default actor writes, and the defaults of a slice and of a turn hold', async () => {
    const store = await openStore('memory:')
    const chat = store.conversation('c')
    await chat.append(
      { role: 'user', content: 'Hello.' },
      { ...fence, ...none('branchAt', 'rewindTo', 'again') },
    )
    await chat.configure({ ...fence, ...none('system', 'tools', 'parameters'), model: 'm' })
    const turned = await chat.turn({ client, model: 'm', summarizer, ...turn, ...limits })
    expect(turned).toMatchObject({ calls: 1, content: [text('Yes.')] })
    await chat.append(
      [1, 2, 3].map((n) => ({ role: 'user' as const, content: `${n}`, ...none('messageId', 'origin') })),
    )
    const { position: marker } = await chat.truncate({ ...fence, ...slice, ...none('reason', 'policy') })
    await chat.undo({ ...fence, reason: undefined })
    await chat.note({ kind: 'title', data: 'T' }, envelope)
    await chat.fork('d', { at: undefined, ...envelope })
    await store
      .importSession(
        { text: '[]', file: 'f.json', ...none('format', 'id', 'skipBadLines') },
        none('progress'),
      )
      .catch(({ _tag }: { readonly _tag: string }) => expect(_tag).not.toBe('InvalidInput'))
    const actors = []
    for await (const { metadata, position } of chat.events()) actors.push([position, metadata.actor.kind])
    expect(actors.length).toBe(marker + 2)
    expect(new Set(actors.map(([, kind]) => kind)).size).toBe(1)
    const [copied] = await copyConversations({ from: 'memory:', to: 'memory:', ...none('ids', 'progress') })
    expect(copied).toBeUndefined()
  })
})
