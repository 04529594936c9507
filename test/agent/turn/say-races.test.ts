import Anthropic from '@anthropic-ai/sdk'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openStore, type Conversation, type EventStore, type SayOptions } from '../../../src/index.ts'
import { storeClosed } from '../../../src/store/errors.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { text, toolUse } from '../../support/log.ts'
import { runs } from '../../support/runs.ts'

// Whoever says something, or gives the turn, may die between any two of its writes. What was said is then on the path or in the inbox,
// once and in order, unless it was rewound; and no reply that came whole is lost.

type Policy = NonNullable<SayOptions['whileBusy']>

interface Round {
  /** What is said while the model replies. */
  readonly during: readonly Policy[]
  readonly hasTool: boolean
  /** After how many writes of its own the turn, and who speaks, dies. */
  readonly turnDies: number | undefined
  readonly speakerDies: number | undefined
}

/** The same store to a process that dies after so many appends: nothing that it does later has any effect. */
const dying = (store: EventStore, after: number | undefined): EventStore => {
  let left = after ?? Infinity
  const dead = { _tag: 'Left' as const, left: storeClosed(store.url) }
  const alive =
    <A extends readonly unknown[], B>(method: (...args: A) => () => Promise<B>) =>
    (...args: A) =>
    async () =>
      left < 0 ? (dead as B) : method(...args)()
  return {
    ...store,
    read: alive(store.read),
    find: alive(store.find),
    append: (request) => async () => (--left < 0 ? dead : store.append(request)()),
    close: () => async () => ({ _tag: 'Right', right: undefined }),
  }
}

const play = async (rounds: readonly Round[]): Promise<void> => {
  const adapter = memoryStore()
  const handleOf = async (after?: number): Promise<Conversation> =>
    (await openStore(dying(adapter, after))).conversation('c')
  const words: { readonly word: string; readonly isSure: boolean }[] = []
  const replies: { readonly word: string; readonly mayBeLost: boolean }[] = []
  let round: Round | undefined
  let speaker = await handleOf()
  let mayHaveRewound = false
  let mayDie = false
  /** The turn may let go of a reply while something is said. */
  let speaking: Promise<void> = Promise.resolve()

  const speak = async (whileBusy: Policy): Promise<void> => {
    const word = `word-${words.length}.`
    mayHaveRewound ||= whileBusy === 'rollback'
    const isSure = await speaker.say({ role: 'user', content: word }, { whileBusy }).then(
      () => true,
      () => false,
    )
    // One that was refused was not said.
    if (isSure || whileBusy !== 'reject') words.push({ word, isSure })
  }
  const api = await messagesApi({
    reply: async (_, n) => {
      const { during = [], hasTool } = round ?? {}
      const word = `reply-${n}.`
      round = undefined
      speaking = (async () => {
        for (const policy of during) await speak(policy)
      })()
      await speaking
      const mayBeLost = mayDie || during.some((policy) => policy === 'interrupt' || policy === 'rollback')
      replies.push({ word, mayBeLost })
      return { content: hasTool ? [text(word), toolUse(`call-${n}`)] : [text(word)] }
    },
  })
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
  const turn = async (chat: Conversation): Promise<string> =>
    chat.turn({ client, model: 'claude-opus-5-5', run: { run: { effect: 'none', run: () => 'done' } } }).then(
      () => 'done',
      (error: { readonly _tag: string }) => error._tag,
    )

  for (const given of rounds) {
    speaker = await handleOf(given.speakerDies)
    await speak('enqueue')
    round = given
    mayDie = given.turnDies !== undefined
    await turn(await handleOf(given.turnDies))
    await speaking
    round = undefined
  }
  const chat = await handleOf()
  speaker = chat
  mayDie = false
  await speak('enqueue')
  for (let ended = ''; ended !== 'NothingToAnswer';) {
    ended = await turn(chat)
    expect(['done', 'NothingToAnswer']).toContain(ended)
  }
  await api.close()

  expect(api.requests.filter(({ status }) => status !== 200).map(({ answer }) => answer)).toEqual([])
  expect(await chat.queued()).toEqual([])
  const items = await chat.effective()
  const shown = items.map((item) => JSON.stringify(item))
  const placesOf = (word: string): readonly number[] =>
    shown.flatMap((item, index) => (item.includes(`"${word}"`) ? [index] : []))
  const log = await logOf(chat)
  let before = -1
  for (const { word, isSure } of words) {
    const places = placesOf(word)
    expect(places.length, `the place of ${word}`).toBeLessThanOrEqual(1)
    if (isSure && !mayHaveRewound) expect(places, `the place of ${word}`).toHaveLength(1)
    if (isSure) expect(log, `the place of ${word}`).toContain(word)
    expect(places[0] ?? Infinity, `${word} in order`).toBeGreaterThan(before)
    before = places[0] ?? before
  }
  for (const { word, mayBeLost } of replies)
    if (!mayBeLost) expect(log, `the place of ${word}`).toContain(word)
  expect((await chat.verify()).discrepancy).toBeUndefined()
  expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
}

const logOf = async (chat: Conversation): Promise<string> => {
  const lines: string[] = []
  for await (const event of chat.events()) lines.push(JSON.stringify(event))
  return lines.join('\n')
}

const dies = fc.option(fc.nat({ max: 8 }), { nil: undefined, freq: 2 })
const round = fc.record<Round>({
  during: fc.array(fc.constantFrom<Policy>('enqueue', 'enqueue', 'interrupt', 'rollback', 'reject'), {
    maxLength: 3,
  }),
  hasTool: fc.boolean(),
  turnDies: dies,
  speakerDies: dies,
})
const rounds = fc.array(round, { minLength: 1, maxLength: 4 })
const together = runs(30)

describe('whatever is said while the model replies, and whoever dies when', () => {
  it('is on the path once, in order, and every reply that was paid for is in the log', () =>
    // Whoever finds that another has died waits for ten seconds: all plays at once.
    fc.assert(
      fc.asyncProperty(fc.array(rounds, { minLength: together, maxLength: together }), async (plays) => {
        await Promise.all(plays.map(play))
      }),
      { numRuns: 1 },
    ))
})
