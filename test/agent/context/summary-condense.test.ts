import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { currentSummarizer } from '../../../src/agent/receipts/summary-request.ts'
import { anthropicModel } from '../../../src/agent/models/anthropic/model.ts'
import { condenseWith } from '../../../src/agent/context/summary/condense.ts'
import {
  type Summarizer,
  summarizer,
  type SummarizerSettings,
} from '../../../src/agent/context/summary/summarizer.ts'
import type { ConversationEvent } from '../../../src/events/events.ts'
import { effective, messagesOf } from '../../../src/projections/effective.ts'
import type { ConversationHandle } from '../../../src/conversation/conversation.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { storeOn } from '../../../src/api/open.ts'
import { left, right } from '../../support/either.ts'
import { assistant, text, thinking, toolUse, truncated, user } from '../../support/log.ts'
import { opus, start } from '../../support/messages-api/client.ts'
import type { ApiFailure, ApiReply } from '../../../src/testing/messages-api/replies.ts'
import { write } from '../../support/write.ts'

const talk = [
  user('Hello, are you there?'),
  assistant('Yes, what is it?'),
  user('Please fix it.'),
  assistant('Done.'),
]

const conversation = async (events = talk): Promise<ConversationHandle> => {
  const store = memoryStore()
  await write(store, 'c', events)
  return storeOn(store, { kind: 'test' }).conversation('c')
}
const recorded = async (chat: ConversationHandle): Promise<readonly ConversationEvent[]> => {
  const events: ConversationEvent[] = []
  for await (const event of chat.events()) events.push(event)
  return events
}

const covers = { first: 0, last: 2 }
/** A summarizer of one's own. */
const saying =
  (...summary: readonly string[]): Summarizer =>
  async () =>
    E.right({ blocks: summary.map(text), origin: { model: 'my-own' } })
const condensing = async (chat: ConversationHandle, own: Summarizer, more: object = {}) => {
  const now = effective(await recorded(chat))
  return condenseWith({ effective: now, covers, summarizer: own, condense: chat.condense, ...more })
}

describe('condensing', () => {
  it('records the summary with where it came from, as of what was summarized', async () => {
    const { client } = await start({ reply: () => ({ content: [text('Short.')] }) })
    const chat = await conversation()
    const asked = summarizer(anthropicModel(client), { model: opus, window: 200_000, pinned: ['a.ts'] })
    expect(right(await condensing(chat, asked))).toMatchObject({
      position: 4,
      events: [{ type: 'Condensed' }],
    })
    const [summary] = right(await chat.effective()())
    expect(summary && messagesOf(summary)).toEqual([
      { role: 'user', content: [text('Short.'), text('a.ts')] },
    ])
    expect(summary).toMatchObject({
      kind: 'summary',
      method: 'model',
      covers,
      origin: { model: opus, context: { position: 3, options: { summarizer: currentSummarizer, covers } } },
    })
  })

  it('takes a summarizer of anyone', async () => {
    const chat = await conversation()
    const asked: unknown[] = []
    const { signal } = new AbortController()
    const own: Summarizer = async (input) => {
      asked.push(input)
      return saying('Own.')(input)
    }
    expect(E.isRight(await condensing(chat, own, { signal }))).toBe(true)
    expect(asked).toEqual([{ effective: effective((await recorded(chat)).slice(0, 4)), covers, signal }])
  })

  it('does not call the summarizer if nothing new was said', async () => {
    const chat = await conversation([...talk, truncated(0, 2)])
    const never: Summarizer = () => expect.unreachable()
    const refused = await condensing(chat, never, { covers: { first: 4, last: 4 } })
    expect(left(refused)._tag).toBe('NothingNew')
    expect(left(await condensing(chat, never, { covers: { first: 7, last: 8 } }))._tag).toBe('NothingNew')
  })
})

describe('a summarizer of your own', () => {
  const picture = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
  const long = [user('word '.repeat(9_000)), assistant('Yes?'), user('Please fix it.'), assistant('Done.')]
  const answering = async (answer: unknown) => {
    const chat = await conversation(long)
    const outcome = await condensing(chat, (async () => answer) as Summarizer)
    return { outcome, types: (await recorded(chat)).slice(4).map(({ type }) => type) }
  }

  it.each<readonly [string, unknown]>([
    ['texts, pictures and documents', [text('Look.'), picture, { ...picture, type: 'document' }]],
    ['a picture beside blank text', [text(' '), picture]],
    ['a field of its own in a block', [{ ...text('Look.'), role: 'mine' }]],
  ])('may answer with %s', async (_, blocks) => {
    const { outcome, types } = await answering({ blocks })
    expect(E.isRight(outcome)).toBe(true)
    expect(types).toEqual(['Condensed'])
  })

  it.each<readonly [string, unknown, string]>([
    ['no blocks', { blocks: [] }, 'blank'],
    ['blank text only', E.right({ blocks: [text(' \n'), text('')] }), 'blank'],
    ['a call', { blocks: [text('Look.'), toolUse('a')] }, 'invalid'],
    ['thinking', { blocks: [text('Look.'), thinking('', 'Well.')] }, 'invalid'],
    ['a compaction', { blocks: [{ type: 'compaction', content: 'Look.' }] }, 'invalid'],
    ['a block of an unknown type', { blocks: [{ type: 'video' }] }, 'invalid'],
    ['a text block without text', { blocks: [{ type: 'text' }] }, 'invalid'],
    [
      'a document of nothing',
      { blocks: [{ type: 'document', source: { type: 'content', content: [null] } }] },
      'invalid',
    ],
    ['blocks that are none', { blocks: ['Look.', null] }, 'invalid'],
    ['what JSON cannot hold', { blocks: [{ ...text('Look.'), size: 1n }] }, 'invalid'],
    ['an origin that is none', { blocks: [text('Look.')], origin: 'me' }, 'invalid'],
    ['another object', { text: 'Look.' }, 'invalid'],
    ['an object without a prototype', Object.create(null), 'invalid'],
    ['nothing', undefined, 'invalid'],
    ['null', null, 'invalid'],
    ['a string', 'Look.', 'invalid'],
    ['a right of nothing', E.right(undefined), 'invalid'],
    ['a left of nothing', E.left(undefined), 'invalid'],
  ])('that answers with %s gave no summary, and nothing is recorded', async (_, answer, reason) => {
    const { outcome, types } = await answering(answer)
    expect(left(outcome)).toMatchObject({
      _tag: 'SummaryFailed',
      reason,
      message: expect.stringContaining('a summary is { blocks }'),
    })
    expect(types).toEqual([])
  })

  it.each<readonly [string, unknown]>([
    ['an error', new Error('Out of paper.')],
    ['an object without a prototype', Object.create(null)],
    ['nothing', undefined],
  ])('that throws %s has failed', async (_, thrown) => {
    const chat = await conversation()
    const outcome = await condensing(chat, () => {
      throw thrown
    })
    expect(left(outcome)).toMatchObject({ _tag: 'SummaryFailed', reason: 'threw' })
  })
})

describe('a failure leaves the conversation as it was', () => {
  const expectUnchanged = async (own: Summarizer, tag: string, more: object = {}): Promise<void> => {
    const chat = await conversation()
    const before = await recorded(chat)
    const failed = await condensing(chat, own, more)
    expect(left(failed)).toMatchObject({ _tag: tag, message: expect.any(String) })
    expect(await recorded(chat)).toEqual(before)
  }

  it('where the summary is not smaller, with what is pinned', async () => {
    await expectUnchanged(saying('Short.', 'pinned '.repeat(30)), 'ContextGrew')
  })

  it('where the summarizer throws', async () => {
    await expectUnchanged(() => Promise.reject(new Error('Out of paper.')), 'SummaryFailed')
    const { client } = await start()
    const pinned = (): never => {
      throw new Error('No.')
    }
    await expectUnchanged(
      summarizer(anthropicModel(client), { model: opus, window: 200_000, pinned }),
      'SummaryFailed',
    )
  })

  const partly: ApiReply = { content: [text('In sh')] }
  it.each<readonly [string, ApiReply | ApiFailure, string]>([
    ['the model refuses', { ...partly, stop_reason: 'refusal' }, 'SummaryFailed'],
    ['the summary is cut off', { content: [text('word '.repeat(9_000))] }, 'SummaryFailed'],
    ['the summary is blank', { content: [] }, 'SummaryFailed'],
    ['the stream breaks off', { ...partly, fault: { kind: 'drop', after: 5 } }, 'ModelFailed'],
    ['the stream ends too early', { ...partly, fault: { kind: 'end' } }, 'ModelFailed'],
    ['the deadline is missed', { ...partly, fault: { kind: 'stall', after: 4 } }, 'ModelAborted'],
    ['the API refuses', { status: 400, type: 'invalid_request_error', message: 'No.' }, 'ModelFailed'],
    ['the API is overloaded', { status: 529, type: 'overloaded_error', message: 'No.' }, 'ModelFailed'],
  ])('where %s', async (_, reply, tag) => {
    const { client } = await start({ reply: () => reply })
    const deadline = tag === 'ModelAborted' ? 200 : 60_000
    const settings: SummarizerSettings = { model: opus, window: 200_000, deadline }
    await expectUnchanged(summarizer(anthropicModel(client), { ...settings, maxRetries: 0 }), tag)
  })

  it('where it is aborted', async () => {
    const { client } = await start()
    const own = summarizer(anthropicModel(client), { model: opus, window: 200_000 })
    await expectUnchanged(own, 'ModelAborted', { signal: AbortSignal.abort() })
  })

  describe('where the slice has changed meanwhile, and only there, if it can be told', () => {
    const during = async (meanwhile: (chat: ConversationHandle) => Promise<unknown>) => {
      const chat = await conversation()
      const late: Summarizer = async (input) => {
        await meanwhile(chat)
        return saying('Short.')(input)
      }
      return {
        chat,
        answer: await condensing(chat, late, { covers: { first: 1, last: 2 }, context: chat.context }),
      }
    }
    const said = { role: 'user', content: 'Wait.' } as const

    it.each<readonly [string, (chat: ConversationHandle) => Promise<unknown>]>([
      ['a message', async (chat) => right(await chat.append(said)())],
      ['a configuration', async (chat) => right(await chat.configure({ model: 'm' })())],
      [
        'a truncation before it',
        async (chat) => right(await chat.truncate({ covers: { first: 0, last: 0 } })()),
      ],
      [
        'a rewind to behind it',
        async (chat) => {
          right(await chat.append(said)())
          right(await chat.rewind({ to: 3 })())
        },
      ],
    ])('%s changes nothing', async (_, meanwhile) => {
      const { chat, answer } = await during(meanwhile)
      expect(right(answer).events).toMatchObject([{ type: 'Condensed' }])
      const shown = right(await chat.effective()())
      expect(shown[1]).toMatchObject({ kind: 'summary', covers: { first: 1, last: 2 } })
    })

    it.each<readonly [string, (chat: ConversationHandle) => Promise<unknown>]>([
      ['a rewind into it', async (chat) => right(await chat.rewind({ to: 1 })())],
      ['a rewind to its end', async (chat) => right(await chat.rewind({ to: 2 })())],
      [
        'a rewind before it, and more messages',
        async (chat) => {
          right(await chat.rewind({ to: 0 })())
          right(await chat.append([said, said, said])())
        },
      ],
      ['a marker in it', async (chat) => right(await chat.truncate({ covers: { first: 2, last: 2 } })())],
      ['a marker over it', async (chat) => right(await chat.truncate({ covers: { first: 0, last: 3 } })())],
    ])('%s does, and the error tells what was asked in vain', async (_, meanwhile) => {
      const { chat, answer } = await during(meanwhile)
      expect(left(answer)).toMatchObject({ _tag: 'StaleContext', failed: [{ error: 'StaleContext' }] })
      expect((await recorded(chat)).map(({ type }) => type)).not.toContain('Condensed')
    })
  })

  it('where something was written meanwhile; a marker may be no reason', async () => {
    const after = async (meanwhile: (chat: ConversationHandle) => Promise<unknown>, more: object = {}) => {
      const chat = await conversation()
      const late: Summarizer = async (input) => {
        await meanwhile(chat)
        return saying('Short.')(input)
      }
      const answer = await condensing(chat, late, more)
      return { answer, types: (await recorded(chat)).slice(4).map(({ type }) => type) }
    }
    const say = async (chat: ConversationHandle) =>
      right(await chat.append({ role: 'user', content: 'Wait.' })())
    const hide = async (chat: ConversationHandle) =>
      right(await chat.truncate({ covers: { first: 3, last: 3 } })())
    for (const more of [{}, { tolerate: 'markers' }]) {
      const { answer, types } = await after(say, more)
      expect(left(answer)._tag).toBe('StaleContext')
      expect(types).toEqual(['MessageAppended'])
    }
    expect(left((await after(hide)).answer)._tag).toBe('StaleContext')
    const { answer, types } = await after(hide, { tolerate: 'markers' })
    expect(E.isRight(answer)).toBe(true)
    expect(types).toEqual(['Truncated', 'Condensed'])
  })
})
