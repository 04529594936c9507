import { fileURLToPath } from 'node:url'
import type { Alias } from 'vite'
import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

// Tests with the real clients that `npm run clients` installs. Where they are not installed they are skipped.
export default defineConfig({
  ...base,
  resolve: {
    alias: [
      ...((base.resolve?.alias ?? []) as Alias[]),
      // The checks of the Claude Agent SDK are written for Bun.
      { find: 'bun:test', replacement: fileURLToPath(import.meta.resolve('vitest')) },
    ],
  },
  test: {
    ...base.test,
    include: ['test/clients/*.client.test.ts'],
    exclude: [],
    globalSetup: ['test/support/seed.ts', 'test/clients/support/notice.ts'],
    // With the titles of what was skipped.
    reporters: ['verbose'],
    fileParallelism: false,
    testTimeout: 30 * 60_000,
    hookTimeout: 5 * 60_000,
  },
})
