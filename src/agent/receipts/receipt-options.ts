import type * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { check } from '../../events/check.ts'
import type { InvalidInput } from '../../events/errors.ts'
import type { DeepReadonly, Receipt } from '../../events/events.ts'
import { recordedSchema } from './recorded-schema.ts'

const count = z.int().min(0)

export const formSchema = z.strictObject({
  name: z.literal('chat-completions'),
  version: count,
  system: z.literal('developer').exactOptional(),
  limit: z.literal('max_tokens').exactOptional(),
  usage: z.literal(false).exactOptional(),
  bridge: z.literal(true).exactOptional(),
  images: z.literal(false).exactOptional(),
  files: z.literal(false).exactOptional(),
  reasoning: z
    .strictObject({
      provider: z.string(),
      field: z.enum(['reasoning_content', 'reasoning', 'reasoning_details']),
    })
    .exactOptional(),
})

/**
 * A list of prints, of 6 characters each: the first `shared` prints of the earlier request that was answered at position `base`, followed
 * by `rest`.
 */
const printList = z.strictObject({
  /** Position of an earlier reply with a receipt. */
  base: count.exactOptional(),
  shared: count,
  rest: z.string().regex(/^([\w-]{6})*$/, { error: 'must be a list of fingerprints' }),
})

const receiptOptionsSchema = z.strictObject({
  renderer: count,
  systemMessages: z.boolean().exactOptional(),
  cache: z.enum(['5m', '1h']).exactOptional(),
  /** Form of the request, if not the Messages API's. */
  form: formSchema.exactOptional(),
  /** Names of the requested beta features. */
  betas: z.array(z.string()).exactOptional(),
  /** The newest container on the path: sent, or omitted (`left`) because it had expired or was refused. */
  container: z
    .strictObject({ id: z.string(), left: z.enum(['expired', 'refused']).exactOptional() })
    .exactOptional(),
  /** Number of repairs of each kind that the request needed. */
  repairs: z.record(z.string(), count),
  /** Set if the digest is keyed; absent in a receipt of version 0.1.0. */
  keyed: z.literal(true).exactOptional(),
  /** Prints of the configuration and of the items that the request was made from (item-prints.ts). */
  items: printList.exactOptional(),
  /** Composition of a request that another program recorded (`renderer` is `recordedRenderer`). */
  recorded: recordedSchema.exactOptional(),
  /** In a receipt of version 0.1.0, in place of `items`: fingerprints of the request's blocks. */
  blocks: printList.exactOptional(),
})

/** Options of a reply's receipt: the settings of its request, and the data an audit needs to locate a difference. */
export type ReceiptOptions = DeepReadonly<z.infer<typeof receiptOptionsSchema>>
export type PrintList = DeepReadonly<z.infer<typeof printList>>

export const receiptOptionsIn = ({ options }: Receipt): E.Either<InvalidInput, ReceiptOptions> =>
  check(receiptOptionsSchema, options)
