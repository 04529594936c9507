import { expect, test } from 'vitest'
import type { NewMessage } from '../../src/core.ts'
import { openStore, type Store } from '../../src/index.ts'
import { markerStory } from '../../src/investigate/index.ts'
import { atEnd } from '../support/at-end.ts'

const user = (content: string): NewMessage => ({ role: 'user', content })
const call = (id: string, name: string, input: unknown): NewMessage => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name, input }],
})
const result = (id: string, content: string, isError = false): NewMessage => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content, ...(isError && { is_error: true }) }],
})
const assistant = (content: string): NewMessage => ({ role: 'assistant', content })

const opened = async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  return { store, chat: store.conversation('c') }
}

test('tells what a marker hid, what its summary lost, and which files were read again', async () => {
  const { store, chat } = await opened()
  await chat.append([
    user('Fix   the parser.'),
    call('1', 'Read', { file_path: '/repo/src/parser.ts' }),
    result('1', 'export const parse_block = 1'),
    call('2', 'Edit', { file_path: '/repo/src/parser.ts', old_string: 'a', new_string: 'b' }),
    result('2', 'changed'),
    call('3', 'Edit', { file_path: '/repo/src/lexer.ts', old_string: 'a', new_string: 'b' }),
    result('3', '<tool_use_error>no such text</tool_use_error>\nmore', true),
    call('4', 'Bash', { command: 'npm test' }),
    result('4', 'Exit code 1\nparser.test.ts failed, ticket QX-7781', true),
  ])
  // A marker inside the marker: its messages count, too.
  await chat.truncate({ covers: { first: 1, last: 2 } })
  const { position: marker } = await chat.condense({
    covers: { first: 0, last: 8 },
    summary: 'Worked on parser.ts; a test failed.',
  })
  await chat.append([
    user('Go on.'),
    call('5', 'Read', { file_path: '/repo/src/parser.ts' }),
    result('5', 'export const parse_block = 1'),
    assistant('parse_block of /repo/src/parser.ts was wrong, as QX-7781 says.'),
  ])
  expect(await markerStory(store, { conversation: 'c', marker })).toEqual({
    conversation: 'c',
    marker,
    kind: 'condensed',
    messages: 9,
    asked: { count: 1, items: [{ position: 0, text: 'Fix the parser.' }] },
    failed: {
      count: 2,
      items: [
        { position: 6, tool: 'Edit', text: 'no such text' },
        { position: 8, tool: 'Bash', text: 'Exit code 1: parser.test.ts failed, ticket QX-7781' },
      ],
    },
    changed: { count: 1, items: [{ path: '/repo/src/parser.ts', edits: 1, positions: [3] }] },
    steps: {
      count: 4,
      items: [
        { tool: 'Edit', calls: 2, positions: [3, 5] },
        { tool: 'Bash', calls: 1, positions: [7] },
        { tool: 'Read', calls: 1, positions: [1] },
      ],
    },
    lost: {
      count: 2,
      items: [
        { term: 'QX-7781', said: [8], needed: [14] },
        { term: 'parse_block', said: [2], needed: [14] },
      ],
    },
    reread: { count: 1, items: [{ path: '/repo/src/parser.ts', read: [1], again: [12] }] },
    examined: { hidden: 9, later: 4, isAll: true },
  })
  expect(await markerStory(store, { conversation: 'c', marker: 0 })).toBeUndefined()
})

test('what is kept is not lost, nor what abandoned replies or replies after a restore use', async () => {
  const { store, chat } = await opened()
  await chat.append([
    user('Tickets QX-1111, QX-2222, QX-3333 and QX-4444.'),
    assistant('I see.'),
    user('Of these, QX-1111 is urgent.'),
  ])
  const { position: marker } = await chat.truncate({ covers: { first: 0, last: 1 } })
  await chat.append(assistant('I abandon QX-2222.'))
  await chat.rewind({ to: marker })
  await chat.append(assistant('I take QX-1111, then QX-3333.'))
  await chat.restore({ marker })
  await chat.append([user('And?'), assistant('Now QX-4444.')])
  const story = await markerStory(store, { conversation: 'c', marker })
  expect(story?.lost.items).toEqual([{ term: 'QX-3333', said: [0], needed: [6] }])
})

test('reads a limited part of what a marker hides, and says so', async () => {
  const { store, chat } = await opened()
  const count = 6_000
  await chat.append([
    user('The first one, QX-1111.'),
    ...Array.from({ length: count }, (_, n) => assistant(`Step ${n}.`)),
    // Too large to be read.
    assistant(`QX-2222 ${'x'.repeat(2 ** 21)}`),
    assistant('The last one, QX-3333.'),
  ])
  const { position: marker } = await chat.truncate({ covers: { first: 0, last: count + 2 } })
  await chat.append(assistant('QX-1111, QX-2222 and QX-3333.'))
  const story = await markerStory(store, { conversation: 'c', marker })
  expect(story).toMatchObject({ messages: count + 3, examined: { hidden: 4_000, later: 1, isAll: false } })
  expect(story?.lost.items.map(({ term }) => term)).toEqual(['QX-1111', 'QX-3333'])
})

test('reads as seldom through hundreds of nested markers as through one', async () => {
  const { store, chat } = await opened()
  const deep = 300
  for (let n = 0; n < deep; n++) {
    const { position } = await chat.append([user(`Question ${n}.`), assistant(`Answer ${n}.`)])
    await chat.condense({
      covers: { first: n === 0 ? 0 : position - 2, last: position },
      summary: `Up to ${n}.`,
    })
  }
  const marker = await chat.position()
  while ((await store.catalogue.outline('c', { from: marker })).indexed < marker);
  let asked = 0
  const counted: Pick<Store, 'conversation' | 'catalogue'> = {
    catalogue: store.catalogue,
    conversation: (id) => {
      const its = store.conversation(id)
      return {
        ...its,
        events: (options) => {
          asked++
          return its.events(options)
        },
      }
    },
  }
  const story = await markerStory(counted, { conversation: 'c', marker })
  expect(story).toMatchObject({ messages: 2 * deep, asked: { count: deep }, examined: { hidden: 2 * deep } })
  expect(asked).toBeLessThan(10)
})
