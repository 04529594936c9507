// Opens the store in the file named, loads the effective history of its conversation `bench`, and prints how many milliseconds the
// two took; then both once more, in the same process.
import { openStore } from '../../src/index.ts'

// Opening a store would import it, and strip the types of its files: the published package has none.
await import('../../src/store/sqlite/store.ts')

const load = async (): Promise<{ readonly open: number; readonly load: number; readonly items: number }> => {
  const start = performance.now()
  const store = await openStore(`sqlite:${process.argv[2]}`)
  const opened = performance.now()
  const items = await store.conversation('bench').effective()
  const loaded = performance.now()
  await store.close()
  return { open: opened - start, load: loaded - opened, items: items.length }
}

process.stdout.write(JSON.stringify([await load(), await load()]))
