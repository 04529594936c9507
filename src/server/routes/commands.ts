import { z } from 'zod'
import { commandSchemas, type CommandType } from '../../commands/command.ts'
import { conversationExists, outOfRange } from '../../commands/rejections.ts'
import { askedSchema, workspaceSchema } from '../../events/events.ts'
import { conversationIdSchema } from '../../events/ids.ts'
import { countTokens } from '../../agent/context/tokens/tokens.ts'
import { render } from '../../core.ts'
import { type CommandInput, type Conversation, type Effective, isError } from '../../index.ts'
import { countsOf } from '../../agent/receipts/receipt.ts'
import { toError } from '../../result/typed-error.ts'
import { at, flag, ofConversation } from '../parameters.ts'
import { commandIdOf, fenceOf, revisionTag } from '../preconditions.ts'
import { route } from '../route.ts'
import { awaitedShape, decidedShape } from '../shapes/workers.ts'
import {
  linkShape,
  noteShape,
  previewShape,
  queuedShape,
  recordedShape,
  writtenShape,
} from '../shapes/write-shapes.ts'

// Operations that write to one conversation. The actor is always the owner of the token; the request body cannot set it.

const envelope = {
  commandId: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('Id that makes a command idempotent: a repetition writes nothing'),
  correlationId: z.string().optional(),
  causationId: z.string().optional(),
  workspace: workspaceSchema
    .optional()
    .describe('Commit at which the files of the conversation are: `dirty` if they have other changes'),
}
const asked = {
  answer: askedSchema.optional().describe('Request an answer from a worker'),
  interrupts: z
    .literal(true)
    .optional()
    .describe('A turn in progress discards its reply and continues from this message'),
}
/** Returns the fields that a request body may have besides those of the command. */
const besides = (type: CommandType) =>
  type === 'append' || type === 'rewind' ? { ...envelope, ...asked } : envelope

type BodyOf<T extends CommandType> = (typeof commandSchemas)[T]['shape'] extends infer Shape extends
  z.ZodRawShape
  ? z.ZodObject<
      Shape &
        typeof envelope & { readonly type: z.ZodLiteral<T> } & (T extends 'append' | 'rewind'
          ? typeof asked
          : unknown),
      z.core.$strict
    >
  : never
type CommandBody = { readonly [T in CommandType]: BodyOf<T> }[CommandType]

const bodies = Object.entries(commandSchemas).map(([type, schema]) =>
  (schema as z.ZodObject).safeExtend({ type: z.literal(type), ...besides(type as CommandType) }),
)
const commandShape = z
  .discriminatedUnion('type', bodies as [CommandBody, ...CommandBody[]])
  .meta({ id: 'Command' })

const shown = (effective: Effective) => {
  const rendered = render(effective)
  const { total, estimated } = countTokens(effective)
  return {
    items: effective.items.length,
    tokens: total,
    estimated,
    awaits: rendered.awaits,
    repairs: countsOf(rendered),
  }
}

export const commands = route({
  method: 'post',
  path: '/conversations/{id}/commands',
  name: 'command',
  summary: 'Runs a command; with `dryRun=true`, only returns what it would write',
  scope: 'write',
  repeats: 'found',
  params: ofConversation,
  query: z.strictObject({ dryRun: flag.default(false) }),
  body: commandShape,
  answers: { 200: z.union([writtenShape, previewShape]) },
  headers: ['If-Match'],
  sends: ['ETag', 'Location'],
  errors: [
    'PreconditionRequired',
    'StaleContext',
    'ConversationNotFound',
    'ConversationExists',
    'OutOfRange',
    'NotShown',
    'UnsafeCut',
    'NothingToHide',
    'NothingToRewind',
    'NothingToUndo',
    'EventTooLarge',
  ],
  handle: async ({ params: { id }, query, body, headers, identity, store }) => {
    const chat = store.conversation(id)
    const commandId = commandIdOf(body.commandId, headers)
    const own = { ...(commandId !== undefined && { commandId }), actor: identity.actor }
    if (body.type === 'fork') {
      const { type: _, id: target, ...options } = body
      if (query.dryRun) {
        const last = await chat.position()
        if (await isThere(store.conversation(target))) throw toError(conversationExists(target))
        const { at: end = last } = options
        if (end > last) throw toError(outOfRange(id, end, last))
        return { body: { conversation: target, position: end + 1, events: [] } }
      }
      const fork = await chat.fork(target, { ...options, ...own })
      const position = await fork.position()
      return {
        headers: { location: `/conversations/${target}` },
        body: { conversation: target, position, events: [] },
      }
    }
    const after = fenceOf(body.after, headers)
    const command = { ...body, ...own, ...(after !== undefined && { after }) } as CommandInput
    if (query.dryRun) {
      const preview = await chat.preview(command)
      return { body: { ...preview, before: shown(preview.before), after: shown(preview.after) } }
    }
    const answer = await chat.execute(command)
    return { headers: { etag: revisionTag(answer.position) }, body: answer }
  },
})

const isThere = async (chat: Conversation): Promise<boolean> => {
  try {
    await chat.position()
    return true
  } catch (error) {
    if (isError(error, 'ConversationNotFound')) return false
    throw error
  }
}

const message = commandSchemas.append.shape.messages

export const say = route({
  method: 'post',
  path: '/conversations/{id}/messages',
  name: 'say',
  summary: 'Records a user message at any time; while the model is busy, it waits in the inbox',
  scope: 'write',
  repeats: 'found',
  params: ofConversation,
  body: z.strictObject({
    messages: message,
    whileBusy: z.enum(['enqueue', 'interrupt', 'rollback', 'reject']).optional(),
    ...envelope,
    answer: asked.answer,
  }),
  answers: { 200: recordedShape, 202: queuedShape },
  errors: ['Busy', 'EventTooLarge'],
  handle: async ({ params, body: { messages, ...options }, headers, identity, store }) => {
    const commandId = commandIdOf(options.commandId, headers)
    const chat = store.conversation(params.id)
    const said = await chat.say(messages, { ...options, commandId, actor: identity.actor })
    return { status: said.status === 'queued' ? 202 : 200, body: said }
  },
})

export const cancel = route({
  method: 'post',
  path: '/conversations/{id}/cancel',
  name: 'cancel',
  summary: 'Cancels the current turn, if there is one, in any process',
  scope: 'write',
  repeats: 'kept',
  params: ofConversation,
  body: z.strictObject({ reason: z.string().optional() }),
  answers: { 200: z.object({ conversation: conversationIdSchema }) },
  errors: ['ConversationNotFound'],
  handle: async ({ params: { id }, body, identity, store }) => {
    await store.conversation(id).cancel({ ...body, by: identity.by })
    return { body: { conversation: id } }
  },
})

export const waiting = route({
  method: 'get',
  path: '/conversations/{id}/waiting',
  name: 'waiting',
  summary: 'Lists the calls that wait for an approval or an external result',
  scope: 'read',
  params: ofConversation,
  query: z.strictObject({ at }),
  answers: { 200: z.object({ items: z.array(awaitedShape) }) },
  errors: ['ConversationNotFound', 'OutOfRange'],
  handle: async ({ params, query, store }) => ({
    body: { items: await store.conversation(params.id).waiting(query) },
  }),
})

const ofCall = ofConversation.extend({ call: z.string().min(1).max(500) })
const decisionErrors = ['ConversationNotFound', 'AlreadyDecided', 'NotWaiting'] as const

export const approve = route({
  method: 'post',
  path: '/conversations/{id}/waiting/{call}/approve',
  name: 'approve',
  summary: 'Approves a waiting call',
  scope: 'write',
  repeats: 'kept',
  params: ofCall,
  body: z.strictObject({
    note: z.string().optional(),
    input: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("Input for the tool, instead of the model's"),
  }),
  answers: { 200: decidedShape },
  errors: decisionErrors,
  handle: async ({ params: { id, call }, body, identity, store }) => ({
    body: await store.conversation(id).approve(call, { ...body, by: identity.by }),
  }),
})

export const deny = route({
  method: 'post',
  path: '/conversations/{id}/waiting/{call}/deny',
  name: 'deny',
  summary: 'Denies a waiting call: it is not run, and the model receives the reason',
  scope: 'write',
  repeats: 'kept',
  params: ofCall,
  body: z.strictObject({ reason: z.string().optional() }),
  answers: { 200: decidedShape },
  errors: decisionErrors,
  handle: async ({ params: { id, call }, body, identity, store }) => ({
    body: await store.conversation(id).deny(call, { ...body, by: identity.by }),
  }),
})

export const withdraw = route({
  method: 'post',
  path: '/conversations/{id}/waiting/{call}/withdraw',
  name: 'withdraw',
  summary: 'Withdraws the approval of a call whose tool has not started; the call waits again',
  scope: 'write',
  repeats: 'kept',
  params: ofCall,
  body: z.strictObject({ reason: z.string().optional() }),
  answers: { 200: decidedShape },
  errors: ['ConversationNotFound', 'NotWithdrawn'],
  handle: async ({ params: { id, call }, body, identity, store }) => ({
    body: await store.conversation(id).withdraw(call, { ...body, by: identity.by }),
  }),
})

const noteKind = z
  .string()
  .max(200)
  .regex(/^(title|[^\s/]+(\/[^\s/]+)+)$/, {
    error: 'must be title, or a kind with a prefix, such as my-agent/progress',
  })
  .describe('`title`, whose data is a non-empty string, or a kind with a prefix')

export const note = route({
  method: 'post',
  path: '/conversations/{id}/notes',
  name: 'note',
  summary: 'Adds a note to the conversation',
  scope: 'write',
  repeats: 'found',
  params: ofConversation,
  body: z.strictObject({ kind: noteKind, data: z.unknown().optional(), commandId: envelope.commandId }),
  answers: { 200: noteShape },
  errors: ['ConversationNotFound', 'EventTooLarge'],
  handle: async ({ params, body: { commandId, ...given }, headers, identity, store }) => {
    const options = { commandId: commandIdOf(commandId, headers), actor: identity.actor }
    return { body: await store.conversation(params.id).note(given, options) }
  },
})

const noneEmpty = z.string().min(1, { error: 'must not be empty' })
const linked = {
  relation: z.string().regex(/^\S+$/, { error: 'must be a word such as subagent-of' }).max(200),
  position: z.int().min(0).optional(),
  call: noneEmpty.optional(),
  commandId: envelope.commandId,
}
export const link = route({
  method: 'post',
  path: '/conversations/{id}/links',
  name: 'link',
  summary: 'Links the conversation to another one',
  scope: 'write',
  repeats: 'found',
  params: ofConversation,
  body: z.union([
    z.strictObject({ ...linked, conversation: conversationIdSchema, ref: noneEmpty.optional() }),
    z.strictObject({ ...linked, ref: noneEmpty }),
  ]),
  answers: { 200: linkShape },
  errors: ['ConversationNotFound', 'EventTooLarge'],
  handle: async ({ params, body: { commandId, ...given }, headers, identity, store }) => {
    const options = { commandId: commandIdOf(commandId, headers), actor: identity.actor }
    return { body: await store.conversation(params.id).link(given, options) }
  },
})
