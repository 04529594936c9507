import { z } from 'zod'

export const problemShape = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('What to do'),
    tag: z.string().optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457; the data of a typed error are fields of it' })
