#!/usr/bin/env node
// In a checkout the sources run as they are, without a build; in the published package the build is what there is.
import { existsSync } from 'node:fs'
import module from 'node:module'

const source = new URL('../src/cli/main.ts', import.meta.url)
const built = new URL('../dist/cli/main.js', import.meta.url)
const [major = 0, minor = 0] = process.version.slice(1).split('.').map(Number)

// An older Node fails while it loads the program, with a SyntaxError or a missing module: hence the import behind the check.
if (major > 22 || (major === 22 && minor >= 18)) {
  // From the second run on, what was compiled is read.
  module.enableCompileCache()
  await import((existsSync(source) ? source : built).href)
} else {
  process.stderr.write(`palimpsest needs Node 22.18 or newer; this is ${process.version}: upgrade Node\n`)
  process.exitCode = 1
}
