import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { historiesOf } from '../../src/investigate/histories.ts'
import { effective } from '../../src/projections/effective.ts'
import { histories } from '../support/histories.ts'
import { runs } from '../support/runs.ts'

test('histories of a log are those of the plain fold, in whatever order they are asked for', () => {
  fc.assert(
    fc.property(histories(), fc.array(fc.nat(), { maxLength: 12 }), (log, picks) => {
      const ascending = historiesOf(log)
      for (const { position } of log) expect(ascending(position)).toEqual(effective(log, position))
      const any = historiesOf(log)
      for (const pick of log.length > 0 ? picks : []) {
        const at = pick % log.length
        expect(any(at)).toEqual(effective(log, at))
      }
    }),
    { numRuns: runs(60) },
  )
})
