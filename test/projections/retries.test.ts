import { expect, test } from 'vitest'
import type { NewMessage } from '../../src/core.ts'
import { storeOn } from '../../src/api/open.ts'
import { openStore } from '../../src/index.ts'
import { run } from '../../src/result/fallible.ts'
import { atEnd } from '../support/at-end.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { right } from '../support/either.ts'

const call = (id: string, command: string, name = 'Bash'): NewMessage => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name, input: { command } }],
})
const result = (id: string, isError: boolean): NewMessage => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content: 'x', is_error: isError }],
})

test('a reply is a retry after a worker released its step with an error', async () => {
  const events = memoryStore()
  const chat = storeOn(events, { kind: 'program' }).conversation('c')
  const append = async (message: NewMessage) => right(await chat.append(message)())
  await append({ role: 'user', content: 'Test it.' })
  const claimed = { step: 'conversation@0', worker: 'w', attempt: 1, at: 0 }
  const released = {
    step: 'conversation@0',
    worker: 'w',
    reason: 'free',
    error: 'Overloaded',
    at: 0,
  } as const
  right(
    await run(
      chat.turnLog.append(
        [
          { type: 'TurnsBegun', data: { at: 0 } },
          { type: 'TurnClaimed', data: claimed },
          { type: 'TurnReleased', data: released },
        ],
        -1,
      ),
    ),
  )
  await append({ role: 'assistant', content: 'Yes.' })
  await append({ role: 'assistant', content: 'It works.' })
  const store = await openStore(events)
  atEnd(store.close)
  expect((await store.catalogue.outline('c')).retries).toEqual([1])
})

test('a retry repeats a call that failed last, in the same turn, with the same tool and input', async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const chat = store.conversation('c')
  await chat.append([
    { role: 'user', content: 'Test it.' },
    call('1', 'npm test'),
    result('1', true),
    call('2', 'npm run build'),
    result('2', false),
    call('3', 'npm test', 'Shell'),
    result('3', false),
    // 7: the retry, which succeeds; 9 repeats a call that succeeded last.
    call('4', 'npm test'),
    result('4', false),
    call('5', 'npm test'),
    result('5', true),
  ])
  // 11: a retry as well, also if the index has been written meanwhile.
  expect((await store.catalogue.outline('c')).retries).toEqual([7])
  await chat.append([call('6', 'npm test'), result('6', true)])
  expect((await store.catalogue.outline('c')).retries).toEqual([7, 11])
  // Of a fork and of another turn, nothing failed before.
  await chat.fork('f')
  await store.conversation('f').append(call('7', 'npm test'))
  await chat.append([{ role: 'user', content: 'Again.' }, call('8', 'npm test')])
  expect((await store.catalogue.outline('c')).retries).toEqual([7, 11])
  expect((await store.catalogue.outline('f')).retries).toEqual([7, 11])
})
