import { z } from 'zod'
import type { Conversation } from '../../index.ts'
import type { BisectedChat } from '../../investigate/bisect.ts'
import { bisect } from '../../investigate/index.ts'
import { logOf } from '../../investigate/log.ts'
import type { Log } from '../../projections/path.ts'
import { answerQuestion, type BisectionView, bisectionOf, bisectionsOf } from '../../investigate/by-hand.ts'
import { openWhole, lane } from '../bounded.ts'
import { bisectionListedShape, bisectionShape, saidShape } from '../shapes/investigate.ts'
import { ofConversation, whole } from '../parameters.ts'
import { requestError } from '../problem.ts'
import { type Identity, route } from '../route.ts'

// Bisections by hand: people judge positions, to find the event with which a conversation went wrong. docs/investigate.md.

const inTurn = lane()
const errors = ['ConversationNotFound', 'TooLong', 'Overloaded'] as const
const ofBisection = ofConversation.extend({ bisection: z.string().min(1).max(200) })
const drawn = z.strictObject({
  buckets: whole(1, 10_000)
    .optional()
    .describe(
      'Maximum number of candidates: the list is divided into this many ranges, each represented by its first candidate and highest probability. Default: all',
    ),
})

/** Maximum number of bisections in the list. The newest ones are listed. */
const mostListed = 100

/** Returns a conversation whose events are read once and reused in later steps, so that all steps ignore events written in the meantime. */
const readOnce = (chat: Conversation): BisectedChat => {
  let log: Promise<Log> | undefined
  return {
    ...chat,
    events: async function* () {
      yield* await (log ??= logOf(chat))
    },
  }
}

/** Returns the command that runs the same bisection on the command line. */
const commandFor = (
  id: string,
  { good, bad }: { readonly good: number | string; readonly bad: number | string } = { good: 'A', bad: 'B' },
): string => `bisect ${id} --good ${good} --bad ${bad}`

/** Returns a conversation that records notes in the caller's name. */
const noted = (chat: Conversation, { actor }: Identity): BisectedChat => ({
  ...readOnce(chat),
  note: (note, envelope) => chat.note(note, { ...envelope, actor }),
})

export const bisections = route({
  method: 'get',
  path: '/conversations/{id}/bisections',
  name: 'bisections',
  summary: 'Lists the newest bisections of a conversation: at most 100, newest first',
  scope: 'read',
  params: ofConversation,
  answers: { 200: z.object({ items: z.array(bisectionListedShape) }) },
  errors,
  handle: ({ params: { id }, store, leaving }) =>
    inTurn(leaving, async () => {
      const all = await bisectionsOf(await openWhole(store, id, `log ${id} --notes`), mostListed)
      const items = all.map(
        ({
          candidates: _candidates,
          probabilities: _probabilities,
          suspects: _suspects,
          verdicts,
          ...its
        }) => ({
          ...its,
          verdicts: verdicts.length,
        }),
      )
      return { body: { items } }
    }),
})

export const bisection = route({
  method: 'get',
  path: '/conversations/{id}/bisections/{bisection}',
  name: 'bisection',
  summary: 'Returns the state of a bisection: the position to judge next, or the result',
  scope: 'read',
  params: ofBisection,
  query: drawn,
  answers: { 200: bisectionShape },
  errors: [...errors, 'NotFound'],
  handle: ({ params: { id, bisection: name }, query: { buckets }, store, leaving }) =>
    inTurn(leaving, async () => ({
      body: shortened(await found(await openWhole(store, id, commandFor(id)), name), buckets),
    })),
})

const found = async (chat: BisectedChat, name: string): Promise<BisectionView> => {
  const view = await bisectionOf(chat, name)
  if (!view) throw requestError('NotFound', `conversation ${chat.id} has no bisection ${name}`)
  return view
}

/** Rounds probabilities to four significant digits and reduces the candidates, of which there may be 100,000, to at most `buckets`. */
const shortened = (view: BisectionView, buckets = Infinity): BisectionView => {
  const probabilities = view.probabilities.map((probability) => Number(probability.toPrecision(4)))
  const wide = Math.ceil(view.candidates.length / buckets)
  if (wide <= 1) return { ...view, probabilities }
  const candidates = view.candidates.filter((_, index) => index % wide === 0)
  return {
    ...view,
    candidates,
    probabilities: candidates.map((_, n) => Math.max(...probabilities.slice(n * wide, (n + 1) * wide))),
  }
}

export const begun = route({
  method: 'post',
  path: '/conversations/{id}/bisections',
  name: 'bisect',
  summary: 'Begins a bisection by hand, or continues the newest one with the same question',
  scope: 'write',
  params: ofConversation,
  body: z.strictObject({
    good: z.int().min(-1).describe('Position at which all was well; -1: before the first event'),
    bad: z.int().min(0).describe('A later position at which something was wrong'),
    question: z.string().min(1).max(1_000).optional().describe('Default: by hand'),
    reliability: z
      .number()
      .gt(0.5)
      .max(1)
      .optional()
      .describe('Probability that a verdict is right. Default 1'),
    again: z.boolean().optional().describe('Start again, ignoring earlier verdicts'),
  }),
  answers: { 200: bisectionShape },
  errors,
  handle: ({ params: { id }, body, store, identity, leaving }) =>
    inTurn(leaving, async () => {
      const chat = noted(await openWhole(store, id, commandFor(id, body)), identity)
      const { id: name } = await bisect(chat, body)
      return { body: shortened(await found(chat, name)) }
    }),
})

export const verdicts = route({
  method: 'post',
  path: '/conversations/{id}/bisections/{bisection}/verdicts',
  name: 'verdict',
  summary: 'Records a verdict on the position that a bisection asks about. A repeated verdict counts once',
  scope: 'write',
  params: ofBisection,
  query: drawn,
  body: saidShape,
  answers: { 200: bisectionShape },
  errors: [...errors, 'NotFound', 'NotAsked'],
  handle: ({ params: { id, bisection: name }, query: { buckets }, body, store, identity, leaving }) =>
    inTurn(leaving, async () => {
      const chat = noted(await openWhole(store, id, `${commandFor(id)} --mark ${body.verdict}`), identity)
      const { view, isTaken } = await answerQuestion(chat, await found(chat, name), body)
      if (!isTaken) throw requestError('NotAsked', notAsked(view, body.position), { position: body.position })
      return { body: shortened(view, buckets) }
    }),
})

const notAsked = ({ result }: BisectionView, position: number): string =>
  result.type === 'ask'
    ? `the bisection does not ask about position ${position}, or that position has been judged: judge ${result.position} next`
    : `the bisection does not ask about position ${position}: it has ended`
