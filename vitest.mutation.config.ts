import base from './vitest.config.ts'

// The tests of the core, without those that start processes or read real sessions: a mutant of the core must fail here.
export default {
  ...base,
  test: {
    ...base.test,
    include: [
      'test/{events,projections,commands}/**/*.test.ts',
      'test/property/{commands,effective,predicates,render}.test.ts',
    ],
  },
}
