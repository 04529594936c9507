import { stripVTControlCharacters } from 'node:util'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { watchRosters } from '../../src/cli/views/workers.ts'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { temporaryFolder } from '../support/stores.ts'
import { inDirectory, shell } from './palimpsest.ts'

/** A worker with three slots that works on `c`, until what it returns is called. */
const working = async () => {
  const directory = temporaryFolder()
  const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
  await store
    .conversation('c')
    .append({ role: 'user', content: 'Is it there?' }, { answer: { tenant: 'acme' } })
  const ends = new AbortController()
  const taken = Promise.withResolvers<void>()
  const worker = store.worker({
    slots: 3,
    grace: 0,
    turn: () => {
      taken.resolve()
      return new Promise<never>((_, reject) =>
        ends.signal.addEventListener('abort', () => reject(new Error('over'))),
      )
    },
  })
  const done = worker.run({ signal: ends.signal })
  await taken.promise
  // It says that it lives as it begins.
  for await (const { workers } of store.workers({ every: 5 })) if (workers[0]?.slots !== undefined) break
  const stop = async (): Promise<void> => {
    ends.abort()
    await done
  }
  atEnd(async () => {
    await stop()
    await store.close()
  })
  return { directory, store, worker: worker.id, stop }
}

describe('palimpsest workers', () => {
  test('lists who works on what, until they stop', async () => {
    const { directory, worker, stop } = await working()
    const json = async (): Promise<unknown> =>
      JSON.parse((await shell('palimpsest workers --json', directory)).stdout)
    expect(await json()).toMatchObject({
      workers: [
        {
          worker,
          slots: 3,
          steps: [{ conversation: 'c', step: 'conversation@0', attempt: 1, tenant: 'acme' }],
        },
      ],
      open: 0,
      claimed: 1,
      waiting: 0,
      parked: 0,
    })
    const { stdout } = await shell('palimpsest workers', directory)
    expect(stdout.replaceAll(/\d\S+Z/g, 'TIME')).toBe(`${worker}\t1/3\tTIME\tc\t1\tTIME\n`)
    await stop()
    expect(await json()).toMatchObject({ workers: [], open: 1, oldestOpen: expect.any(String) })
  })

  test('pause says how to pause one, and resume if it was not paused', async () => {
    const { directory, worker } = await working()
    const { stderr, code } = await shell(`palimpsest pause ${worker.slice(0, -3)}`, directory)
    expect({ stderr, code }).toEqual({
      stderr: expect.stringContaining(' is a worker, not a conversation: add --worker'),
      code: 2,
    })
    expect((await shell(`palimpsest pause --worker ${worker.slice(0, -3)}`, directory)).code).toBe(0)
    const resumed = async () => (await shell(`palimpsest resume --worker ${worker}`, directory)).stdout
    expect(await resumed()).toBe(`${worker} continues\n`)
    expect(await resumed()).toBe(`${worker} was not paused: nothing was written\n`)
  })

  test('draws them again and again on a terminal, in the same place, until it is told to stop', async () => {
    const { worker, store } = await working()
    const ends = new AbortController()
    let drawn = ''
    let frames = 0
    const write = (chunk: Buffer, _: string, done: () => void): void => {
      drawn += chunk.toString()
      if (++frames === 2) ends.abort()
      done()
    }
    const stdout = Object.assign(new Writable({ write }), { isTTY: true, columns: 120, rows: 20 })
    await watchRosters(store, stdout, { isAll: false, signal: ends.signal })
    // Colours depend on the machine: they are on where `CI` is set.
    const [, first = '', second = ''] = drawn.replaceAll(/\p{Cc}\[\d+m/gu, '').split('\u001b[J')
    // Short, as `pause --worker` takes it.
    expect(first).toContain(`\n${worker.slice(0, 'worker-12345678'.length)} `)
    expect(first).not.toContain(worker)
    expect(first).toMatch(/conversation +\S*tenant/)
    expect(first).toMatch(/ c +acme +1 /)
    // As many lines up as the first time has written.
    expect(first.endsWith(`\u001b[${first.split('\n').length - 1}A`)).toBe(true)
    expect(second).toMatch(/steps\/s; 0 open, 1 claimed, 0 waiting, 0 parked/)
  })

  test('draws no more lines than the terminal has: the first ones, how many more there are, and the sum', async () => {
    const { store } = await working()
    const workers = Array.from({ length: 9 }, (_, n) =>
      store.worker({ name: `w${n}`, turn: () => new Promise(() => {}) }),
    )
    const ends = new AbortController()
    const ended = Promise.all(workers.map((worker) => worker.run({ signal: ends.signal })))
    for await (const roster of store.workers({ every: 5 })) if (roster.workers.length === 10) break
    const drawing = new AbortController()
    let frame = ''
    const write = (chunk: Buffer, _: string, done: () => void): void => {
      frame = chunk.toString()
      drawing.abort()
      done()
    }
    const stdout = Object.assign(new Writable({ write }), { isTTY: true, columns: 120, rows: 6 })
    await watchRosters(store, stdout, { isAll: false, signal: drawing.signal })
    ends.abort()
    await ended
    const lines = stripVTControlCharacters(frame).split('\n')
    expect(lines).toHaveLength(6)
    expect(lines[0]).toMatch(/worker +slots/)
    expect(lines.slice(-3)).toEqual(['… 8 more', expect.stringContaining('10 workers'), ''])
  })

  test('goes up as many rows as the lines take on a narrow terminal, which wraps them', async () => {
    const { store } = await working()
    const long = store.worker({ name: 'w'.repeat(80), turn: () => new Promise(() => {}) })
    const [ends, drawing] = [new AbortController(), new AbortController()]
    const ended = long.run({ signal: ends.signal })
    for await (const roster of store.workers({ every: 5 })) if (roster.workers.length === 2) break
    const frames: string[] = []
    const write = (chunk: Buffer, _: string, done: () => void): void => {
      if (frames.push(chunk.toString()) === 2) drawing.abort()
      done()
    }
    const stdout = Object.assign(new Writable({ write }), { isTTY: true, columns: 80, rows: 20 })
    await watchRosters(store, stdout, { isAll: false, signal: drawing.signal })
    ends.abort()
    await ended
    const lines = stripVTControlCharacters(frames[0] ?? '').split('\n')
    const rows = lines.slice(0, -1).map(({ length }) => Math.ceil(length / 80))
    expect(Math.max(...rows)).toBe(2)
    const up = rows.reduce((sum, its) => sum + its, 0)
    expect(frames[1]).toMatch(new RegExp(`^\\u001b\\[${up}A`))
  })

  test('refuses to watch where there is no terminal', () =>
    inDirectory(async (directory) => {
      await shell('palimpsest append a --role user --text hello', directory)
      const ran = await shell('palimpsest workers --watch', directory)
      expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('--watch needs a terminal') })
    }))
})
