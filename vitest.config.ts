import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The slowest files first: the workers then end at about the same time. */
class SlowFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const slow = [
      '/chaos.',
      '/server/memory.',
      '/eventstoredb/store.',
      '/postgres/crash.',
      '/snippets.',
      '/types/',
      '/packed/',
      '/cli/work.',
      '/property/render.',
      '/agent-runs.',
      '/interleavings.',
      '/large-content.',
      '/directory.',
      '/whole-writes.',
      '/processes.',
      '/render-long.',
      '/property/',
      '/eventstoredb/',
      '/e2e/',
      '/workers/',
      '/cli/',
      '/contract/',
      '/store/',
      '/turn/',
    ]
    const rank = ({ moduleId }: TestSpecification): string => {
      const at = slow.findIndex((part) => moduleId.includes(part))
      return String(at < 0 ? slow.length : at).padStart(2, '0') + moduleId
    }
    return Promise.resolve(files.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1)))
  }
}

export default defineConfig({
  resolve: {
    // The package's own name is its source, as a test reads like a user's program.
    alias: [
      { find: /^palimpsest$/, replacement: new URL('./src/index.ts', import.meta.url).pathname },
      { find: /^palimpsest\/core$/, replacement: new URL('./src/core.ts', import.meta.url).pathname },
      {
        find: /^palimpsest\/client$/,
        replacement: new URL('./src/server/client/index.ts', import.meta.url).pathname,
      },
      { find: /^palimpsest\/fp$/, replacement: new URL('./src/fp.ts', import.meta.url).pathname },
      {
        find: /^palimpsest\/testing$/,
        replacement: new URL('./src/testing/index.ts', import.meta.url).pathname,
      },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    // They start containers (npm run test:docker) or installed clients (npm run test:clients).
    exclude: ['test/docker/**', 'test/clients/**'],
    globalSetup: ['test/support/seed.ts', 'test/support/postgres/global.ts'],
    setupFiles: ['test/support/seed.ts', 'test/support/after-each.ts'],
    // A worker loads the sources once for all its files: what a file changes of the process it puts back. Many tests wait: with
    // half as many workers again as there are cores, the cores stay busy.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    isolate: false,
    sequence: { sequencer: SlowFirst },
    // Programs that tests start load in a third of the time.
    env: { NODE_COMPILE_CACHE: new URL('./node_modules/.cache/compiled', import.meta.url).pathname },
    // What is waited for takes long on a busy machine: these are for what hangs.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 300_000 } },
  },
})
