import { z } from 'zod'
import { scopes } from '../route.ts'

/** Schema of the response of `GET /session`. */
export const sessionShape = z.object({
  by: z.string().describe('The caller'),
  scopes: z.array(z.enum(scopes)),
  isReadOnly: z.boolean(),
  store: z.string().describe('URL of the store, without credentials'),
})

/** Schema of the body with which a browser exchanges a token for a cookie. */
export const sessionBody = z.strictObject({ token: z.string().min(1).max(200) })
