import { z } from 'zod'
import { entryShape, fateShape } from './history.ts'
import { count, position } from './parts.ts'

// Response schemas for differences between two positions.

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
          was: z.object(fateShape).optional().describe('State before the change, if the item has one'),
        }),
      )
      .describe('Changes by position, without unchanged items'),
  })
  .meta({ id: 'FullDiff' })

const sent = z.array(z.looseObject({ role: z.string() }))
export const requestDiffShape = z
  .looseObject({
    from: position,
    to: position,
    of: z.literal('request'),
    first: count.describe('Number of unchanged messages at the beginning'),
    last: count.describe('Number of unchanged messages at the end, not counting those at the beginning'),
    disappeared: sent.describe('Messages of the request at `from` that are between the unchanged ones'),
    appeared: sent.describe('Messages of the request at `to` that are between the unchanged ones'),
    parts: z
      .array(
        z.object({
          name: z.enum(['system', 'tools']),
          before: z.unknown().optional(),
          after: z.unknown().optional(),
        }),
      )
      .describe('The other parts that differ; absent if there are none'),
  })
  .meta({ id: 'RequestDiff' })
