import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { mostArchived } from '../../src/events/archive-events.ts'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { node, quiet } from '../support/node.ts'
import { runs, scale } from '../support/runs.ts'
import { temporaryFolder } from '../support/stores.ts'

const eraser = fileURLToPath(new URL('children/eraser.ts', import.meta.url))
const words = 'the words that must go'
const most = 2_500

const entry = (id: number): string =>
  `${JSON.stringify({
    type: 'message',
    id: `e${id}`,
    parentId: id === 0 ? null : `e${id - 1}`,
    timestamp: '2026-01-01T00:00:00.000Z',
    message: { role: 'user', content: [{ type: 'text', text: `${words}, ${id}` }] },
  })}\n`

/** A store with a conversation of many messages, imported from a file. */
const filled = async () => {
  const folder = temporaryFolder()
  const url = `sqlite:${join(folder, 'store.db')}?synchronous=normal`
  const store = await openStore(url)
  atEnd(store.close)
  const chat = store.conversation('c')
  const text = Array.from({ length: most }, (_, id) => entry(id)).join('')
  await store.importSession({ file: 'c.jsonl', text, id: 'c', format: 'pi' })
  await chat.note({ kind: 'title', data: words })
  return { folder, url, store, chat, parts: Math.ceil(text.length / mostArchived) }
}

const startEraser = (url: string) => {
  const child = spawn(node, [eraser, url, 'c'], { env: quiet, stdio: ['ignore', 'pipe', 'inherit'] })
  atEnd(() => void child.kill('SIGKILL'))
  return child
}

describe('an erasure', () => {
  it(
    'that is killed at any moment has happened in part, with a record of that part; repeated, it is complete',
    { timeout: 240_000 * Math.max(1, scale) },
    async () => {
      for (let round = 0; round < Math.max(2, runs(6)); round++) {
        const { folder, url, store, chat, parts } = await filled()
        const child = startEraser(url)
        await once(child.stdout, 'data')
        await new Promise((resolve) => setTimeout(resolve, (round * 37) % 200))
        child.kill('SIGKILL')
        await once(child, 'exit')
        expect((await chat.verify()).discrepancy).toBeUndefined()
        await chat.erase({ by: 'ann' })
        const { events, erased, discrepancy } = await chat.verify()
        expect(discrepancy).toBeUndefined()
        // A record for each thousand events that were erased at once.
        expect(events - most).toBeLessThanOrEqual(4)
        expect(erased).toBe(most + 1 + parts)
        await expect(chat.original()).rejects.toMatchObject({ _tag: 'OriginalNotKept' })
        await store.close()
        for (const name of readdirSync(folder))
          expect(readFileSync(join(folder, name)).includes(words)).toBe(false)
      }
    },
  )

  it(
    'beside another one, a writer, and somebody who follows and verifies, loses and breaks nothing',
    { timeout: 240_000 },
    async () => {
      const { url, store, chat, parts } = await filled()
      const followed: number[] = []
      const stop = new AbortController()
      const following = (async () => {
        for await (const item of store.follow({ signal: stop.signal }))
          if (item.type === 'event') followed.push(item.event.position)
      })()
      const children = [startEraser(url), startEraser(url)]
      const ended = Promise.all(children.map((child) => once(child, 'exit')))
      let isEnded = false
      void ended.then(() => (isEnded = true))
      let written = 0
      while (!isEnded) {
        await chat.append({ role: 'user', content: `Meanwhile ${written++}.` })
        if (written % 5 === 0) expect((await chat.verify()).discrepancy).toBeUndefined()
      }
      expect((await ended).map(([code]) => code)).toEqual([0, 0])
      await chat.erase({ by: 'ann' })
      const { events, erased, discrepancy } = await chat.verify()
      expect(discrepancy).toBeUndefined()
      expect(erased).toBe(most + written + 1 + parts)
      const last = await chat.position()
      expect(events).toBe(last + 1)
      while (followed.at(-1) !== last) await new Promise((resolve) => setTimeout(resolve, 10))
      stop.abort()
      await following
      expect(followed).toEqual(Array.from({ length: last + 1 }, (_, position) => position))
    },
  )
})
