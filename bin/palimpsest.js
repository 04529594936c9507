#!/usr/bin/env node
// In a checkout the sources run as they are, without a build; in the published package the build is what there is.
import { existsSync } from 'node:fs'

const source = new URL('../src/cli/main.ts', import.meta.url)
const built = new URL('../dist/cli/main.js', import.meta.url)
await import((existsSync(source) ? source : built).href)
