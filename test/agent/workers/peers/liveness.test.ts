import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { openSqlite } from '../../../../src/store/sqlite/store.ts'
import { messagesApi } from '../../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../../support/at-end.ts'
import { right } from '../../../support/either.ts'
import { text } from '../../../support/log.ts'
import { endsWithTest, start } from '../../../support/node.ts'
import { opened, temporaryFolder } from '../../../support/stores.ts'

/** Longer than any test: nobody is taken for dead because of silence. */
const ttl = 3_600_000

const spec = { effects: '', ttl, slots: 4, grace: 1_000, stall: 3_600_000, prefix: '', hours: 0 }

/** A store in a file, with an API that answers only the calls after the first `hanging`. */
const scene = async (hanging: number) => {
  const folder = temporaryFolder()
  const url = `sqlite:${join(folder, 'store.db')}`
  let calls = 0
  const over = new AbortController()
  const api = await messagesApi({
    reply: async () => {
      if (++calls <= hanging) await once(over.signal, 'abort')
      return { content: [text('Yes.')] }
    },
  })
  atEnd(api.close, () => over.abort())
  const store = await opened(url)
  const events = right(await openSqlite(url)())
  const db = new DatabaseSync(join(folder, 'store.db'))
  const ends = db.prepare('SELECT last FROM streams WHERE name = ?')
  atEnd(events.close(), () => db.close())
  return {
    store,
    /** What the log says of a worker. */
    saidOf: async (id: string) => {
      const stream = `worker-${id}`
      return right(await events.read({ stream, from: 0, direction: 'forwards', limit: 100 })())
    },
    /** Where a worker's stream ends, once that is written. */
    endOf: (id: string) => ends.get(`worker-${id}`)?.['last'] ?? null,
    calls: () => calls,
    alive: () => readdirSync(folder).filter((name) => name.includes('-alive-')),
    worker: async () => {
      const process = start(
        'agent/workers/children/worker.ts',
        JSON.stringify({ ...spec, url, model: api.url }),
      )
      endsWithTest(process)
      const [id] = (await once(process.stdout ?? process, 'data')) as readonly Buffer[]
      return { process, id: String(id).trim() }
    },
  }
}

const until = async (isSo: () => Promise<boolean> | boolean): Promise<void> => {
  while (!(await isSo())) await sleep(5)
}

describe('a worker on a file whose process is killed', () => {
  test('loses its steps to the others, however long its time is, and is reported once', async () => {
    const { store, saidOf, endOf, calls, alive, worker } = await scene(1)
    const chat = store.conversation('c')
    const [victim, other] = [await worker(), await worker()]
    await until(() => alive().length === 2)
    // Stopped in a transaction, it would lock out everybody: the last thing that it writes is where its stream ends, soon after its beat.
    await until(() => endOf(other.id) !== null)
    other.process.kill('SIGSTOP')
    await chat.append({ role: 'user', content: 'hello' }, { answer: true })
    await until(() => calls() === 1)
    other.process.kill('SIGCONT')
    victim.process.kill('SIGKILL')
    await until(async () => (await chat.effective()).length === 2)
    await until(() => alive().length === 1)
    const stops = (await saidOf(victim.id)).filter(({ type }) => type === 'WorkerStopped')
    expect(stops.map(({ data }) => JSON.parse(data))).toEqual([{ reason: 'its process has ended' }])
    expect(calls()).toBe(2)
  })

  test('is found by the next one to begin, if nobody was there to see it', async () => {
    const { store, calls, alive, worker } = await scene(1)
    const chat = store.conversation('c')
    const victim = await worker()
    await chat.append({ role: 'user', content: 'hello' }, { answer: true })
    await until(() => calls() === 1)
    victim.process.kill('SIGKILL')
    await once(victim.process, 'exit')
    expect(alive()).toEqual([`store.db-alive-${victim.id}`])
    const next = await worker()
    await until(async () => (await chat.effective()).length === 2)
    expect(alive()).toEqual([`store.db-alive-${next.id}`])
    next.process.kill('SIGTERM')
    await once(next.process, 'exit')
    expect(alive()).toEqual([])
  })
})
