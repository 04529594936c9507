import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { watchOthers } from '../../src/store/sqlite/watch.ts'
import { atEnd } from '../support/at-end.ts'
import { temporaryFolder } from '../support/stores.ts'

const connection = (path: string): DatabaseSync => {
  const db = new DatabaseSync(path)
  atEnd(() => db.isOpen && db.close())
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t (x)')
  return db
}

const write = (db: DatabaseSync): void => db.exec('INSERT INTO t VALUES (1)')

/** Watches a file through one connection; counts what it is told. */
const scene = (watched?: string) => {
  const path = join(temporaryFolder(), 'a.db')
  const [own, other] = [connection(path), connection(path)]
  const stop = new AbortController()
  atEnd(() => stop.abort())
  let told = 0
  watchOthers(own, watched ?? path, () => void told++, stop.signal)
  /** How often it was told, once that is so often. */
  const toldAt = async (times: number): Promise<number> => {
    while (told < times) await sleep(1)
    return told
  }
  return { own, other, stop, toldAt, told: () => told }
}

describe('a watcher of an SQLite file', () => {
  test('tells of each commit of another connection that it finds, and of none of its own', async () => {
    const { own, other, toldAt, told } = scene()
    write(own)
    await sleep(60)
    expect(told()).toBe(0)
    for (let times = 1; times <= 3; times++) {
      write(other)
      expect(await toldAt(times)).toBe(times)
      write(own)
    }
    await sleep(60)
    expect(told()).toBe(3)
  })

  test('finds commits too where the system cannot watch the file', async () => {
    const nowhere = join(temporaryFolder(), 'none')
    const { other, toldAt } = scene(nowhere)
    write(other)
    expect(await toldAt(1)).toBe(1)
    write(other)
    expect(await toldAt(2)).toBe(2)
  })

  test('finds commits too where the system watches, but says nothing', async () => {
    // Whatever is written to the store, a folder beside it hears nothing of it.
    const silent = join(temporaryFolder(), 'silent')
    mkdirSync(`${silent}-wal`)
    mkdirSync(silent)
    const { other, toldAt } = scene(silent)
    write(other)
    expect(await toldAt(1)).toBe(1)
  })

  test('says nothing once it is stopped', async () => {
    const { other, stop, told } = scene()
    stop.abort()
    write(other)
    await sleep(60)
    expect(told()).toBe(0)
  })

  test('has the next read report why nothing can be seen any more', async () => {
    const { own, toldAt } = scene()
    own.close()
    expect(await toldAt(1)).toBe(1)
  })
})
