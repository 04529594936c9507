import { z } from 'zod'
import { blockSchema } from '../events/blocks.ts'
import {
  type DeepReadonly,
  coversSchema,
  messageSchema,
  originSchema,
  policySchema,
  START,
  dataSchemas,
} from '../events/events.ts'
import { conversationIdSchema } from '../events/ids.ts'
import { newContent, newMessage } from '../events/new-message.ts'

export type { NewMessage } from '../events/new-message.ts'

// The commands on a conversation. Schemas of plain objects, so that mistakes in JavaScript or JSON are named as well.

const position = z.int().min(0)
const positionOrStart = z.int().min(START)

/** Which slice of the effective history to hide. */
const selection = {
  /** The fraction of the items after the kept first messages, rounded down; 0 < fraction ≤ 1. */
  fraction: z.number().gt(0).max(1).optional(),
  /** How many messages at the beginning stay. Default 1: the task. A beginning that is hidden already holds none. */
  keepFirst: z.int().min(0).optional(),
  /** How many messages at the end stay. Default 3; with `fraction` or `keepTokens` 1. */
  keepLast: z.int().min(0).optional(),
  /** Keep the newest items, up to about this many tokens. */
  keepTokens: z.int().min(0).optional(),
  /** Exactly this slice, by the positions of two shown items, both included; taken as it is or refused. */
  covers: coversSchema.optional(),
}

const fence = {
  /** Refuse (`StaleContext`) unless the conversation's last event is still the one at this position. */
  after: positionOrStart.optional(),
  /** `markers`: with `after`, do not refuse because of markers and restores that came since. */
  tolerate: z.literal('markers').optional(),
}

const summary = z.union([
  z.string().regex(/\S/, { error: 'a summary needs text' }),
  z.array(z.object({ role: messageSchema.shape.role, content: newContent })).min(1),
  z.array(blockSchema).min(1),
])

const carriedSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('Configured'), data: dataSchemas.Configured }),
  z.strictObject({ type: z.literal('Condensed'), data: dataSchemas.Condensed }),
  z.strictObject({ type: z.literal('Truncated'), data: dataSchemas.Truncated }),
  z.strictObject({ type: z.literal('Restored'), data: dataSchemas.Restored }),
])

/** A slice is named, or found by how much should stay. */
const isOneSlice = ({ covers, fraction, keepFirst, keepLast, keepTokens }: Slicing): boolean =>
  covers === undefined || [fraction, keepFirst, keepLast, keepTokens].every((given) => given === undefined)
type Slicing = { readonly [K in keyof typeof selection]?: unknown }
const oneSlice = {
  path: ['covers'],
  error: 'names the slice: leave out fraction, keepFirst, keepLast and keepTokens',
}

export const commandSchemas = {
  append: z.strictObject({
    ...fence,
    messages: z.array(newMessage).min(1),
    /** Record them on an abandoned branch that starts after this position: the conversation stays what it is. */
    branchAt: positionOrStart.optional(),
    /** Rewind to this position first: the conversation continues from there. Not with `branchAt`. */
    rewindTo: positionOrStart.optional(),
    /** With `rewindTo`: markers, restores and configurations since that position that are to stay, recorded again before the messages. */
    again: z.array(carriedSchema).optional(),
  }),
  /** What is left out stays as it is; null takes it away. */
  configure: z.strictObject({
    ...fence,
    system: dataSchemas.Configured.shape.system.nullable(),
    tools: dataSchemas.Configured.shape.tools.nullable(),
    model: dataSchemas.Configured.shape.model.nullable(),
    parameters: dataSchemas.Configured.shape.parameters.nullable(),
  }),
  condense: z
    .strictObject({
      ...fence,
      ...selection,
      /** Text or blocks (of one user message), or whole messages. */
      summary,
      /** Who wrote the summary. Default `manual`. */
      method: dataSchemas.Condensed.shape.method.optional(),
      origin: originSchema.optional(),
      /** Why a turn wrote it, if a turn did. */
      policy: policySchema.optional(),
    })
    .refine(isOneSlice, oneSlice),
  truncate: z
    .strictObject({
      ...fence,
      ...selection,
      reason: z.string().optional(),
      policy: policySchema.optional(),
    })
    .refine(isOneSlice, oneSlice),
  restore: z.strictObject({ ...fence, marker: position }),
  /** Exactly one of the three. */
  rewind: z
    .strictObject({
      ...fence,
      /** To right after this position, on whatever branch; `START` (-1) empties the conversation. */
      to: positionOrStart.optional(),
      /** To right before this message. */
      before: position.optional(),
      /** To right before the n-th last turn of the user: a user message that is more than tool results. */
      turns: z.int().min(1).optional(),
      reason: z.string().optional(),
    })
    .refine(
      ({ to, before, turns }) => [to, before, turns].filter((given) => given !== undefined).length === 1,
      {
        error: 'say where to rewind: exactly one of to, before, turns',
      },
    ),
  undo: z.strictObject({ ...fence, reason: z.string().optional() }),
  fork: z.strictObject({
    /** The id of the conversation to create. */
    id: conversationIdSchema,
    /** The position whose history the fork begins with; the last one by default. */
    at: position.optional(),
  }),
}

export type CommandType = keyof typeof commandSchemas
type Inputs = { readonly [T in CommandType]: DeepReadonly<z.infer<(typeof commandSchemas)[T]>> }
/** A command whose input was checked, tagged on `type`. */
export type Command<T extends CommandType = CommandType> = {
  readonly [K in T]: { readonly type: K } & Inputs[K]
}[T]
/** A command on one conversation; a fork concerns two and has a decider of its own. */
export type ConversationCommand = Command<Exclude<CommandType, 'fork'>>
/** The options of condense and truncate that say what to hide. */
export type Selection = Pick<Inputs['truncate'], keyof typeof selection>
export type Summary = Inputs['condense']['summary']
