import { z } from 'zod'
import { canRetry, notParked } from '../parked-step.ts'
import { askingShape } from '../../events/events.ts'
import { toError } from '../../result/typed-error.ts'
import { ofConversation } from '../parameters.ts'
import { commandIdOf } from '../preconditions.ts'
import { route } from '../route.ts'
import { stepShape, workerShape } from '../shapes/workers.ts'

// Workers and their steps, and the commands that control them.

const done = { 200: z.object({}) }
const reason = z.strictObject({ reason: z.string().optional() })

export const workers = route({
  method: 'get',
  path: '/workers',
  name: 'workers',
  summary: 'Lists the workers and the steps that each works on',
  scope: 'read',
  answers: { 200: z.object({ claims: z.int(), items: z.array(workerShape) }) },
  handle: async ({ store }) => {
    for await (const { workers: items, claims } of store.workers()) return { body: { claims, items } }
    return { body: { claims: 0, items: [] } }
  },
})

export const steps = route({
  method: 'get',
  path: '/steps',
  name: 'steps',
  summary: 'Lists the steps requested of workers, oldest first',
  scope: 'read',
  query: z.strictObject({
    state: z.enum(['open', 'claimed', 'waiting', 'parked']).optional(),
    beginning: z.string().max(200).optional(),
  }),
  answers: { 200: z.object({ items: z.array(stepShape) }) },
  handle: async ({ query: { state, beginning }, store }) => {
    const items = []
    const conversations = beginning === undefined ? undefined : [beginning]
    for await (const step of store.steps({ state, conversations })) items.push(step)
    return { body: { items } }
  },
})

const ofConversations = {
  params: ofConversation,
  scope: 'write',
  repeats: 'kept',
  errors: ['ConversationNotFound'],
} as const

export const request = route({
  ...ofConversations,
  method: 'post',
  path: '/conversations/{id}/request',
  name: 'request',
  summary: 'Requests an answer from the workers without adding a message',
  body: z.strictObject(askingShape),
  answers: done,
  repeats: 'found',
  handle: async ({ params, body, headers, identity, store }) => {
    const commandId = commandIdOf(undefined, headers)
    await store.conversation(params.id).request({ ...body, commandId, actor: identity.actor })
    return { body: {} }
  },
})

export const retry = route({
  ...ofConversations,
  method: 'post',
  path: '/conversations/{id}/retry',
  name: 'retry',
  summary: 'Lets workers try a step again that is parked or waits after a failure',
  body: reason,
  answers: done,
  errors: [...ofConversations.errors, 'NotParked'],
  handle: async ({ params, body, identity, store }) => {
    if (!(await canRetry(store, params.id)))
      throw toError(notParked(params.id, 'GET /steps lists the steps and their states'))
    await store.conversation(params.id).retry({ ...body, by: identity.by })
    return { body: {} }
  },
})

export const pause = route({
  ...ofConversations,
  method: 'post',
  path: '/conversations/{id}/pause',
  name: 'pause',
  summary: 'Pauses a conversation: workers begin no step of it until it is resumed',
  body: reason,
  answers: done,
  handle: async ({ params, body, identity, store }) => {
    await store.conversation(params.id).pause({ ...body, by: identity.by })
    return { body: {} }
  },
})

export const resume = route({
  ...ofConversations,
  method: 'post',
  path: '/conversations/{id}/resume',
  name: 'resume',
  summary: 'Resumes a paused conversation',
  body: reason,
  answers: done,
  handle: async ({ params, body, identity, store }) => {
    await store.conversation(params.id).resume({ ...body, by: identity.by })
    return { body: {} }
  },
})

const ofWorker = z.strictObject({ worker: z.string().min(1).max(300) })
const ofWorkers = { params: ofWorker, scope: 'write', repeats: 'kept', errors: ['WorkerNotFound'] } as const

export const pauseWorker = route({
  ...ofWorkers,
  method: 'post',
  path: '/workers/{worker}/pause',
  name: 'pauseWorker',
  summary: 'Pauses a worker: it begins no further step until it is resumed',
  body: reason,
  answers: done,
  handle: async ({ params, body, identity, store }) => {
    await store.pauseWorker(params.worker, { ...body, by: identity.by })
    return { body: {} }
  },
})

export const resumeWorker = route({
  ...ofWorkers,
  method: 'post',
  path: '/workers/{worker}/resume',
  name: 'resumeWorker',
  summary: 'Resumes a paused worker',
  body: reason,
  answers: done,
  handle: async ({ params, body, identity, store }) => {
    await store.resumeWorker(params.worker, { ...body, by: identity.by })
    return { body: {} }
  },
})
