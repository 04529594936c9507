import { globSync, readFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vitest/config'
import base from './vitest.config.ts'

const keysFor = new URL('test/support/keys-for.ts', import.meta.url).pathname

/** Places where a store is opened without keys: the file, what it says, and what it says in these tests. The last one runs programs. */
const openings = [
  ['/src/api/schemes.ts', 'addSeal(keys ?? own)', 'addSeal(keys ?? own ?? keysFor(given))'],
  ['/src/api/open.ts', 'TE.flatMap(addSeal(keys))', 'TE.flatMap(addSeal(keys ?? keysFor(source)))'],
  ['/test/cli/palimpsest.ts', `'palimpsest() { "$NODE" "$PALIMPSEST" "$@"; }'`, 'programWithKeys()'],
] as const

/** Seals every store that a test opens by its URL or adapter, in this process, without keys of its own. */
const sealAll: Plugin = {
  name: 'seal-all-stores',
  enforce: 'pre',
  transform: (code, id) => {
    const [, before, after] = openings.find(([file]) => id.endsWith(file)) ?? []
    if (before === undefined || after === undefined) return undefined
    if (!code.includes(before)) throw new Error(`${id} does not say ${before} any more`)
    return `import { keysFor, programWithKeys } from '${keysFor}'\n${code.replace(before, after)}`
  },
}

const suites = 'test/{transfer,agent,audit,cli}/**/*.test.ts'

/**
 * Reports whether a test needs stores without keys: it changes the file of a store, starts programs that open it, is about what
 * doctor or backup says of a store in the open or about its index file, or reads or alters what an adapter has, beneath the sealing
 * (some steered runs also count its reads).
 */
const isOfOpenStores = (file: string): boolean =>
  /cli\/(backup-keys|doctor|plug-ins|output-file)|ledger\/at-once/.test(file) ||
  /DatabaseSync|node:child_process|children\/|builtWorker|steered-runs\/|\breadTo\(|\bprogram\(\)/.test(
    readFileSync(file, 'utf8'),
  )

// What the suites of these folders say of stores, with every store sealed.
export default defineConfig({
  ...base,
  plugins: [sealAll],
  test: {
    ...base.test,
    include: [suites],
    exclude: globSync(suites).filter(isOfOpenStores),
    // One transcript changes the file of a store, and the other shows a position in it, which counts the event that names the keys.
    testNamePattern: /^(?!.*transcript (receipts|audit)\.md)/,
  },
})
