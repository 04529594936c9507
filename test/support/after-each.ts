import { afterEach } from 'vitest'
import { closeAll } from './at-end.ts'

// A setup file: vitest runs it for each test file, other modules of a worker once.
afterEach(closeAll)
