import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { serve } from '../../src/server/serve.ts'
import { atEnd } from '../support/at-end.ts'

test('an outline brings along, if asked, what is said about its conversation, with its first error', async () => {
  const store = await openStore('memory:')
  const { url, close } = await serve({ store, port: 0 })
  atEnd(store.close, close)
  await store.conversation('talk').append([
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'No.', is_error: true }] },
  ])
  // Its id begins with the other's.
  await store.conversation('talk-2').append({ role: 'user', content: 'Again.' })
  const get = async (path: string): Promise<unknown> =>
    (await fetch(`${url}/api/v1/conversations/${path}`)).json()
  const about = await get('talk/about')
  expect(about).toMatchObject({ id: 'talk', title: 'Look.', errors: 1, firstError: 2, events: 3 })
  expect(await get('talk/outline?about=true')).toMatchObject({ failed: [2], about })
  expect(await get('talk/outline')).not.toHaveProperty('about')
  expect(await get('talk-2/about')).toMatchObject({ id: 'talk-2', errors: 0 })
  expect(await get('talk-2/about')).not.toHaveProperty('firstError')
})

test('of many links, lists and facts have the newest hundred, and their number', async () => {
  const store = await openStore('memory:')
  const { url, close } = await serve({ store, port: 0 })
  atEnd(store.close, close)
  const chat = store.conversation('many')
  await chat.append({ role: 'user', content: 'Look.' })
  for (let n = 0; n <= 100; n++) await chat.link({ relation: 'see', ref: `ref-${n}` })
  const get = async (path: string): Promise<unknown> => (await fetch(`${url}/api/v1${path}`)).json()
  const about = (await get('/conversations/many/about')) as { readonly links: readonly unknown[] }
  expect(about).toMatchObject({ linkCount: 101 })
  expect(about.links).toHaveLength(100)
  expect(about.links.at(-1)).toMatchObject({ ref: 'ref-100' })
  const { links } = about
  expect(await get('/conversations')).toMatchObject({ items: [{ id: 'many', linkCount: 101, links }] })
  expect(await get('/conversations/many/links')).toMatchObject({ items: { length: 101 } })
  const page = await get('/conversations/many/links?offset=99&limit=1')
  expect(page).toMatchObject({ total: 101, next: 100, items: [{ ref: 'ref-99' }] })
  const end = await get('/conversations/many/links?offset=100&limit=1')
  expect(end).toMatchObject({ total: 101, items: [{ ref: 'ref-100' }] })
  expect(end).not.toHaveProperty('next')
  await store.conversation('few').append({ role: 'user', content: 'Look.' })
  await store.conversation('few').link({ relation: 'see', ref: 'one' })
  expect(await get('/conversations/few/about')).toMatchObject({ links: [{ ref: 'one' }] })
  expect(await get('/conversations/few/about')).not.toHaveProperty('linkCount')
})
