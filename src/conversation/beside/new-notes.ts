import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { checkJson } from '../../events/check.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { conversationIdSchema } from '../../events/ids.ts'
import type { NewFact } from './note-writer.ts'

/** A note to add to a conversation. */
export interface NewNote {
  /**
   * `title`, which takes a string as `data`, or a custom kind with your own prefix, such as `claude-code/progress`. At most 200
   * characters.
   */
  readonly kind: string
  /** Content of the note: any JSON value; a non-empty string for a `title`. */
  readonly data?: unknown
}

interface LinkFields {
  /** Relation of this conversation to the target: `subagent-of`, `continues`, `handed-over-from` or a word of your own. */
  readonly relation: string
  /** A position in the other conversation. */
  readonly position?: number | undefined
  /** Id of a tool call in the other conversation. */
  readonly call?: string | undefined
}
/** A link to another conversation, which need not be in the store. */
export interface LinkToConversation extends LinkFields {
  /** Id of the other conversation. */
  readonly conversation: string
  /** Description of the target in words. */
  readonly ref?: string | undefined
}
/** A link to a target that is not a conversation, or whose id is unknown. */
export interface LinkToRef extends LinkFields {
  readonly conversation?: undefined
  /** Description of the target in words: a file, a URL or a name. */
  readonly ref: string
}
export type NewLink = LinkToConversation | LinkToRef

const ownKind = /^[^\s/]+(?:\/[^\s/]+)+$/
const longestKind = 200

const newNoteSchema = z
  .strictObject({ kind: z.string().max(longestKind), data: z.unknown().optional() })
  .superRefine(({ kind, data }, context) => {
    const problem = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (kind === 'title') {
      if (typeof data !== 'string' || data.trim() === '')
        problem('data', 'a title must be a non-empty string')
    } else if (!ownKind.test(kind))
      problem('kind', 'must be title, or a kind with a prefix, such as my-agent/progress')
  })

const newLinkSchema = z
  .strictObject({
    relation: z.string().regex(/^\S+$/, { error: 'must be a word such as subagent-of' }).max(longestKind),
    conversation: conversationIdSchema.optional(),
    ref: z.string().min(1).optional(),
    position: z.int().min(0).optional(),
    call: z.string().min(1).optional(),
  })
  .refine(({ conversation, ref }) => conversation !== undefined || ref !== undefined, {
    error: 'a link must name its target: set conversation or ref',
  })

/** Validates a note and returns a function that builds the event data from it. */
export const newNote = (note: unknown): E.Either<InvalidInput, NewFact> =>
  E.map((data: NewNote): NewFact => (at) => ({ type: 'Noted', data: { ...data, at } }))(
    checkJson(newNoteSchema, note),
  )

/** Validates a link and returns a function that builds the event data from it. */
export const newLink = (link: unknown): E.Either<InvalidInput, NewFact> =>
  E.map((data: z.infer<typeof newLinkSchema>): NewFact => (at) => ({
    type: 'Linked',
    data: { ...data, at },
  }))(checkJson(newLinkSchema, link))
