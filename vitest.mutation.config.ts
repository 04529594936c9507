import { defineConfig, type Plugin } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import base from './vitest.config.ts'

/**
 * Stryker chooses the tests of a mutant by a pattern of their full names, in which it joins suite and test by a space; vitest 5
 * joins them by ` > `. Without this no test matches, and every mutant survives (stryker-mutator/stryker-js#6210).
 */
const fullNames: Plugin = {
  name: 'full-test-names',
  configureVitest: ({ project }) => {
    let pattern: RegExp | undefined
    Object.defineProperty(project.config, 'testNamePattern', {
      enumerable: true,
      get: () => pattern,
      set: (given: RegExp | undefined) => {
        pattern = given && new RegExp(given.source.replaceAll(' ', '(?: > | )'))
      },
    })
  },
}

/** The slow tests last: a run ends at the first that fails. */
class QuickFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): string =>
      `${/\/property\/|-long\./.test(moduleId) ? 1 : 0}${moduleId}`
    return Promise.resolve(files.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1)))
  }
}

// The tests of the core, without those that start processes or read real sessions: a mutant of the core must fail here.
export default defineConfig({
  ...base,
  plugins: [fullNames],
  test: {
    ...base.test,
    include: [
      'test/{events,projections,commands}/**/*.test.ts',
      'test/property/{commands,effective,predicates,render}.test.ts',
    ],
    // Every mutant has a new worker; the mutants are tried side by side.
    maxWorkers: 1,
    sequence: { sequencer: QuickFirst },
  },
})
