import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { right } from './either.ts'

/** An empty folder that is gone after the test. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
  folders.push(folder)
  return folder
}
const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Every store there is, by name; each call opens an empty one. */
export const stores: Readonly<Record<string, () => Promise<EventStore>>> = {
  memory: async () => memoryStore(),
  sqlite: async () => right(await openSqlite(`sqlite:${join(temporaryFolder(), 'store.db')}`)()),
}
