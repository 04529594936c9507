import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: {
    // The package's own name is its source, as a test reads like a user's program.
    alias: [
      { find: /^palimpsest$/, replacement: new URL('./src/index.ts', import.meta.url).pathname },
      { find: /^palimpsest\/core$/, replacement: new URL('./src/core.ts', import.meta.url).pathname },
      { find: /^palimpsest\/fp$/, replacement: new URL('./src/fp.ts', import.meta.url).pathname },
      {
        find: /^palimpsest\/testing$/,
        replacement: new URL('./src/testing/index.ts', import.meta.url).pathname,
      },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    // They start containers: npm run test:docker.
    exclude: ['test/docker/**'],
    globalSetup: ['test/support/seed.ts'],
    setupFiles: ['test/support/seed.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for may take long on a busy machine.
    expect: { poll: { timeout: 30_000 } },
  },
})
