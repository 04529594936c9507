import { setTimeout as sleep } from 'node:timers/promises'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TurnEvent, TurnOptions } from '../../../src/index.ts'
import { eventQueue } from '../../../src/agent/turn/stream/event-queue.ts'
import type { InterimEvent } from '../../../src/agent/turn/stream/turn-event.ts'
import { text, thinking, toolUse } from '../../support/log.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { openStore as openTasks } from '../../../src/fp.ts'
import { runs } from '../../support/runs.ts'
import { type Said, type Scene, scene, task, yes } from '../../support/turn-scene.ts'

const tools = ['read', 'write'].map((name) => ({ name, input_schema: { type: 'object' } }))
const call = (name: string, id: string) => ({
  ...toolUse(id),
  name,
  input: { path: 'a rather long path/of a file' },
})
const long = 'The parser fails because a string is not closed. '.repeat(4).trim()

const streamOf = ({ chat, client }: Scene, options: Partial<TurnOptions> = {}) =>
  chat.stream({ client, model: 'claude-opus-5-5', ...options })

const all = async (events: AsyncIterable<TurnEvent>): Promise<readonly TurnEvent[]> => {
  const seen: TurnEvent[] = []
  for await (const event of events) seen.push(event)
  return seen
}
const types = (events: readonly TurnEvent[]): readonly string[] => events.map(({ type }) => type)

describe('the stream of a turn', () => {
  it('tells of all that happens, in order, the recorded replies by their positions, and ends with what turn resolves to', async () => {
    const playing = await scene([
      { content: [{ ...thinking('s'), thinking: 'Let me see.' }, text(long), call('read', 'r1')] },
      yes,
    ])
    const run = {
      read: (_: unknown, { progress }: { progress: (text: string) => void }) => {
        progress('half')
        return 'its content'
      },
    }
    const parameters = { thinking: { type: 'adaptive' } }
    const events = await all(streamOf(playing, { tools, run, parameters }))
    const joined = (type: 'text' | 'thinking' | 'tool-input'): string =>
      events
        .slice(
          0,
          events.findIndex((event) => event.type === 'reply'),
        )
        .map((event) =>
          event.type !== type
            ? ''
            : event.type === 'text'
              ? event.text
              : event.type === 'thinking'
                ? event.thinking
                : event.json,
        )
        .join('')
    expect(joined('text')).toBe(long)
    expect(joined('thinking')).toBe('Let me see.')
    expect(JSON.parse(joined('tool-input'))).toEqual(call('read', 'r1').input)
    const ofCall = { call: 'r1', tool: 'read' }
    const rest = events.filter(({ type }) => !['text', 'thinking', 'tool-input'].includes(type))
    expect(rest).toMatchObject([
      { type: 'reply', position: 2, stopReason: 'tool_use', usage: { output: expect.any(Number) } },
      { type: 'tool-started', ...ofCall, input: call('read', 'r1').input },
      { type: 'tool-progress', ...ofCall, text: 'half' },
      { type: 'tool-ended', ...ofCall, content: 'its content', ms: expect.any(Number) },
      { type: 'reply', position: 4, content: [text('Yes.')], stopReason: 'end_turn' },
      { type: 'done', turned: { position: 4, calls: 2, tools: [{ ...ofCall, isError: false }] } },
    ])
    expect(
      types(await playing.chat.timeline().then((log) => log.map(({ event }) => event as never))),
    ).toEqual(['MessageAppended', 'Configured', 'MessageAppended', 'MessageAppended', 'MessageAppended'])
  })

  it('tells of a tool that fails, of one that there is not, and shows of a large result what the model is shown', async () => {
    const playing = await scene([
      { content: [call('read', 'r'), call('write', 'w'), call('gone', 'g')] },
      yes,
    ])
    const run = {
      read: () => 'x'.repeat(5_000),
      write: () => Promise.reject(new Error('disk full')),
    }
    const events = await all(streamOf(playing, { tools, run, maxResult: 1_000 }))
    const ended = events.filter((event) => event.type === 'tool-ended' || event.type === 'tool-failed')
    const by = new Map(ended.map((event) => [event.call, event]))
    expect(by.get('w')).toMatchObject({ type: 'tool-failed', content: 'Error: disk full' })
    expect(by.get('g')).toMatchObject({ type: 'tool-failed', content: 'There is no tool gone.' })
    const shown = by.get('r')
    const results = (await playing.chat.effective()).flatMap((item) =>
      item.kind === 'summary' ? item.messages.flatMap(({ content }) => content) : [],
    )
    expect(results[0]).toMatchObject({ tool_use_id: 'r', content: shown?.content })
    expect(JSON.stringify(shown?.content).length).toBeLessThan(1_100)
    expect(events.filter(({ type }) => type === 'tool-started')).toHaveLength(2)
  })

  it('says that a call is repeated before its reply starts over', async () => {
    const broken: Said = { content: [text(long)], fault: { kind: 'drop', after: 6 } }
    const playing = await scene([broken, yes])
    const events = await all(streamOf(playing))
    const at = types(events).indexOf('retrying')
    expect(events[at]).toMatchObject({ try: 2, wait: expect.any(Number), error: { _tag: 'ModelFailed' } })
    expect(types(events.slice(0, at)).every((type) => type === 'text')).toBe(true)
    expect(events.slice(at + 1)).toMatchObject([
      { type: 'text', text: 'Yes.' },
      { type: 'reply', content: [text('Yes.')] },
      { type: 'done', turned: { retried: 1 } },
    ])
  })

  it('says that the reply starts over where the user interrupts it', async () => {
    const slow: Said = { content: [text(long)], delay: 10 }
    const playing = await scene([slow, yes])
    const seen: TurnEvent[] = []
    for await (const event of streamOf(playing))
      if (seen.push(event) === 1)
        await playing.chat.say({ role: 'user', content: 'And line 60?' }, { whileBusy: 'interrupt' })
    const at = types(seen).indexOf('retrying')
    expect(seen[at]).toMatchObject({ error: { _tag: 'ModelAborted' }, wait: 0, try: 1 })
    expect(types(seen).filter((type) => type === 'reply')).toHaveLength(1)
    expect(seen.slice(at + 1)).toMatchObject([
      { type: 'text', text: 'Yes.' },
      { type: 'reply' },
      { type: 'done', turned: { calls: 2 } },
    ])
  })

  it('tells of the summaries and truncations of the context, by their positions', async () => {
    const model = 'tiny'
    const playing = await scene([yes], { models: { [model]: { contextWindow: 3_000 } } })
    const talk = async (): Promise<void> => {
      for (let n = 0; n < 8; n++)
        await playing.chat.append([
          { role: 'assistant', content: long.repeat(3) },
          { role: 'user', content: `${long.repeat(3)} ${n}` },
        ])
    }
    await talk()
    const context = { window: 2_000, reserved: 100, keepLast: 1 }
    const settings = { model, context, parameters: { max_tokens: 100 } }
    const condensed = await all(
      streamOf(playing, { ...settings, summarizer: async () => ({ blocks: [text('In short.')] }) }),
    )
    const marker = condensed.find((event) => event.type === 'condensed')
    expect((await playing.chat.timeline())[marker?.position ?? -1]?.event).toMatchObject({
      type: 'Condensed',
      data: { covers: marker?.covers },
    })
    await talk()
    const truncated = await all(streamOf(playing, { ...settings, summarizer: false }))
    const cuts = truncated.filter((event) => event.type === 'truncated')
    const log = await playing.chat.timeline()
    expect(cuts.length).toBeGreaterThan(0)
    expect(cuts.map(({ position }) => log[position]?.event.type)).toEqual(cuts.map(() => 'Truncated'))
    expect(truncated.at(-1)).toMatchObject({ turned: { truncated: cuts.length, condensed: 0 } })
    expect(condensed.at(-1)).toMatchObject({ turned: { condensed: 1, truncated: 0 } })
  })

  it('throws the typed error of a turn that fails, and what a bug throws as itself', async () => {
    const playing = await scene([yes])
    await all(streamOf(playing))
    await expect(all(streamOf(playing))).rejects.toMatchObject({
      _tag: 'NothingToAnswer',
      name: 'NothingToAnswer',
    })
    await expect(all(streamOf(playing, { model: '' }))).rejects.toMatchObject({ _tag: 'InvalidInput' })
  })

  it('is there in palimpsest/fp, too', async () => {
    const { client } = await scene([yes])
    const store = right(await openTasks('memory:')())
    atEnd(store.close())
    const chat = store.conversation('c')
    right(await chat.append(task)())
    const events = await all(chat.stream({ client, model: 'claude-opus-5-5' }))
    expect(types(events)).toEqual(['text', 'reply', 'done'])
  })

  it('begins when its first event is asked for', async () => {
    const playing = await scene([yes])
    const events = streamOf(playing)
    await sleep(5)
    expect(playing.api.requests).toHaveLength(0)
    await events.return?.()
    expect(await events.next()).toEqual({ done: true, value: undefined })
    expect(await playing.chat.position()).toBe(0)
  })

  it('that is left while its next event is awaited aborts the turn at once', async () => {
    const stalled: Said = { content: [text('Never.')], fault: { kind: 'stall', after: 2 } }
    const playing = await scene([stalled, yes])
    const events = streamOf(playing)
    const pending = events.next()
    while (playing.api.requests.length === 0) await sleep(1)
    await events.return?.()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(await playing.turn()).toMatchObject({ content: [text('Yes.')] })
  })

  it('left at any event leaves a log that the next turn continues, and no tool runs on', async () => {
    const replies: Said[] = [
      { content: [text(long), call('read', 'r1'), call('write', 'w1')] },
      { content: [call('read', 'r2')] },
      yes,
    ]
    let [begun, ended] = [0, 0]
    const work = async (_: unknown, { signal }: { signal: AbortSignal }): Promise<string> => {
      begun++
      try {
        await sleep(2, undefined, { signal })
        return 'done'
      } finally {
        ended++
      }
    }
    const run = { read: { run: work, idempotent: true }, write: work }
    let isWhole = false
    for (let last = 1; !isWhole; last++) {
      const playing = await scene(replies)
      let seen = 0
      for await (const event of streamOf(playing, { tools, run })) {
        isWhole = event.type === 'done'
        if (++seen === last) break
      }
      expect(ended).toBe(begun)
      const before = await playing.chat.position()
      await sleep(1)
      expect(await playing.chat.position()).toBe(before)
      if ((await playing.chat.render()).awaits === 'model') await playing.turn({ tools, run })
      expect((await playing.chat.effective()).at(-1)).toMatchObject({ content: [text('Yes.')] })
      expect(playing.api.requests.filter(({ status }) => status !== 200)).toEqual([])
      expect(await playing.chat.verifyReceipts()).toMatchObject({ findings: [] })
    }
  })

  it('gives a slow reader whole pieces: what it joins is what a fast one reads, and the model is not held up', async () => {
    const replies: Said[] = [{ content: [text(long.repeat(20)), call('read', 'r1')] }, yes]
    const run = { read: () => 'its content' }
    const playing = await scene(replies)
    const seen: TurnEvent[] = []
    for await (const event of streamOf(playing, { tools, run })) {
      // The whole turn happens while the first event is looked at.
      if (seen.push(event) === 1) while ((await playing.chat.position()) < 4) await sleep(1)
    }
    const texts = seen.filter((event) => event.type === 'text')
    expect(texts.length).toBeLessThanOrEqual(3)
    expect(texts.map((event) => event.text).join('')).toBe(`${long.repeat(20)}Yes.`)
    expect(types(seen)).toEqual([
      'text',
      ...(types(seen)[1] === 'text' ? ['text'] : []),
      'tool-input',
      'reply',
      'tool-started',
      'tool-ended',
      'text',
      'reply',
      'done',
    ])
  })
})

const pieces: fc.Arbitrary<InterimEvent> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), index: fc.nat(2), text: fc.string() }),
  fc.record({ type: fc.constant('thinking' as const), index: fc.nat(2), thinking: fc.string() }),
  fc.record({
    type: fc.constant('tool-input' as const),
    index: fc.nat(2),
    call: fc.constant('a'),
    tool: fc.constant('read'),
    json: fc.string(),
  }),
  fc.constant({ type: 'tool-progress' as const, call: 'a', tool: 'read', text: 'half' }),
)

/** The events with neighbouring pieces of a block as one. */
const joined = (events: readonly InterimEvent[]): readonly string[] => {
  const blocks: string[] = []
  let last = ''
  for (const event of events) {
    const { text: said, thinking: thought, json, ...rest } = { text: '', thinking: '', json: '', ...event }
    const key = JSON.stringify(rest)
    if (key === last && event.type !== 'tool-progress') blocks.push(`${blocks.pop()}${said}${thought}${json}`)
    else blocks.push(`${key}${said}${thought}${json}`)
    last = key
  }
  return blocks
}

describe('the queue between a turn and its reader', () => {
  it('keeps every word and every event in order, however slow the reader is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(pieces, fc.constant('read' as const))), async (acts) => {
        const queue = eventQueue()
        const read: InterimEvent[] = []
        const pushed = acts.filter((act) => act !== 'read')
        let reading: Promise<void> | undefined
        const readOne = async (): Promise<void> => {
          const event = await queue.next()
          if (event) read.push(event)
          reading = undefined
        }
        for (const act of acts) {
          if (act !== 'read') queue.push(act)
          else reading ??= readOne()
          await Promise.resolve()
        }
        queue.end()
        await reading
        for (let event = await queue.next(); event; event = await queue.next()) read.push(event)
        expect(joined(read)).toEqual(joined(pushed))
      }),
      { numRuns: runs(200) },
    )
  })
})
