#!/usr/bin/env node
import { endIfUnwritable } from './output.ts'

// Node 22 warns that node:sqlite is experimental whenever it is loaded. Users can do nothing about that; other warnings pass. Static
// imports are linked before any code runs, so the program is imported dynamically, after the filter is in place.
const emitWarning = process.emitWarning.bind(process)
process.emitWarning = (warning: string | Error, ...rest: readonly unknown[]): void => {
  if (!String(warning).startsWith('SQLite is an experimental feature'))
    Reflect.apply(emitWarning, process, [warning, ...rest])
}

endIfUnwritable(process.stdout)
endIfUnwritable(process.stderr)

const { hasLoadedAgent, run } = await import('./run.ts')
process.exitCode = await run(process.argv.slice(2), process)
if (hasLoadedAgent()) process.stdout.write('', () => process.exit())
