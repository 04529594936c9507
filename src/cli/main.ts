#!/usr/bin/env node
import { endWithReader } from './output.ts'

// Node 22 calls node:sqlite experimental whenever it is loaded. A user can do nothing about it; other warnings go through. The
// module is loaded while imports are linked, before any code runs: hence the import of the program behind the filter.
const emitWarning = process.emitWarning.bind(process)
process.emitWarning = (warning: string | Error, ...rest: readonly unknown[]): void => {
  if (!String(warning).startsWith('SQLite is an experimental feature'))
    Reflect.apply(emitWarning, process, [warning, ...rest])
}

endWithReader(process.stdout)
endWithReader(process.stderr)

const { run } = await import('./run.ts')
process.exitCode = await run(process.argv.slice(2), process)
