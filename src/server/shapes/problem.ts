import { z } from 'zod'

export const problemShape = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('Message that says what is wrong and what to do'),
    tag: z.string().optional(),
  })
  .meta({
    id: 'Problem',
    description: 'A problem as in RFC 9457, with the data of the typed error as fields',
  })
