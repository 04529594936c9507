import { z } from 'zod'
import { entryShape, fateShape } from './history.ts'
import { count, position } from './parts.ts'

// How two positions differ.

export const diffShape = z
  .looseObject({
    from: position,
    to: position,
    changes: z.array(
      z.looseObject({ change: z.enum(['kept', 'appeared', 'disappeared']), entry: entryShape }),
    ),
  })
  .meta({ id: 'Diff' })

export const fullDiffShape = z
  .looseObject({
    from: position,
    to: position,
    of: z.literal('full'),
    changes: z
      .array(
        z.looseObject({
          change: z.enum(['appeared', 'disappeared', 'turned']),
          entry: entryShape,
          was: z.object(fateShape).optional().describe('Of one that turned: what it was before'),
        }),
      )
      .describe('By position. What is as it was is left out'),
  })
  .meta({ id: 'FullDiff' })

const sent = z.array(z.looseObject({ role: z.string() }))
export const requestDiffShape = z
  .looseObject({
    from: position,
    to: position,
    of: z.literal('request'),
    first: count.describe('How many messages are the same at the beginning'),
    last: count.describe('How many are the same at the end, the first ones aside'),
    disappeared: sent.describe('The messages between those, before'),
    appeared: sent.describe('And after'),
    parts: z
      .array(
        z.object({
          name: z.enum(['system', 'tools']),
          before: z.unknown().optional(),
          after: z.unknown().optional(),
        }),
      )
      .describe('The other parts that differ; absent where there is none'),
  })
  .meta({ id: 'RequestDiff' })
