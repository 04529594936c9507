import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

// Tests with the real clients that `npm run clients` installs. Where they are not installed they are skipped.
export default defineConfig({
  ...base,
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
