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
