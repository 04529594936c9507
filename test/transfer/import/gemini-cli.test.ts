import fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { type AnyBlock, textBlock } from '../../../src/events/blocks.ts'
import { effective, messagesOf } from '../../../src/projections/effective.ts'
import type { Log } from '../../../src/projections/path.ts'
import { render } from '../../../src/projections/render/render.ts'
import { parseSession } from '../../../src/transfer/formats/parse-session.ts'
import { left } from '../../support/either.ts'
import { importFile, jsonl, onlyLog, planOf, shownIn } from '../../support/import-log.ts'
import { violations } from '../../support/predicates.ts'
import { runs } from '../../support/runs.ts'

interface Fields {
  readonly [field: string]: unknown
}
const timestamp = '2026-06-01T08:00:00.000Z'
const meta = { sessionId: 's', projectHash: 'h', startTime: timestamp, lastUpdated: timestamp }
const user = (id: string, content: unknown = id): Fields => ({ id, timestamp, type: 'user', content })
const reply = (id: string, content: unknown = id, more: Fields = {}): Fields => ({
  id,
  timestamp,
  type: 'gemini',
  content,
  ...more,
})
const response = (id: string, output: string): Fields => ({
  functionResponse: { id, name: 'ls', response: { output } },
})
const call = (id: string, result?: unknown): Fields => ({
  id,
  name: 'ls',
  args: { at: id },
  status: 'success',
  ...(result !== undefined && { result }),
})
const rewind = (id: string): Fields => ({ $rewindTo: id })
const checkpoint = (...messages: readonly Fields[]): Fields => ({
  $set: { messages, lastUpdated: timestamp },
})

const logOf = (...lines: readonly Fields[]): Log =>
  onlyLog(importFile({ text: jsonl(meta, ...lines), file: 'f' }))
const said = (role: string, ...content: readonly unknown[]): Fields => ({ role, content })
const asked = (text: string): Fields => said('user', textBlock(text))
const answered = (text: string): Fields => said('assistant', textBlock(text))

describe('a session of Gemini CLI', () => {
  it('its replies have thoughts, text and calls, and are followed by the results', () => {
    const message = reply('r', 'I look.', {
      thoughts: [{ subject: 'Plan', description: 'List first.' }, { description: 'Then read.' }],
      tokens: { input: 10, output: 3, cached: 4, thoughts: 2, tool: 0, total: 15 },
      model: 'gemini-3-pro',
      toolCalls: [
        call('1', [response('1', 'a.txt'), { inlineData: { mimeType: 'image/png', data: 'AAAA' } }]),
        call('2', [{ functionResponse: { id: '2', name: 'ls', response: { error: 'no such folder' } } }]),
        call('3', 'plain'),
        call('4'),
      ],
    })
    const use = (id: string): Fields => ({ type: 'tool_use', id, name: 'ls', input: { at: id } })
    const result = (id: string, content: string, more: Fields = {}): Fields => ({
      type: 'tool_result',
      tool_use_id: id,
      content,
      ...more,
    })
    const history = [
      asked('List.'),
      said(
        'assistant',
        { type: 'thinking', thinking: '**Plan** List first.\n\nThen read.' },
        textBlock('I look.'),
        ...['1', '2', '3', '4'].map(use),
      ),
      said(
        'user',
        result('1', 'a.txt'),
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        result('2', 'no such folder', { is_error: true }),
        result('3', 'plain'),
      ),
    ]
    const messages = [
      user('c', '/help'),
      user('u', [{ text: 'List.' }]),
      { ...user('i'), type: 'info' },
      message,
    ]
    const asJson = JSON.stringify({ ...meta, messages }, undefined, 2)
    for (const text of [jsonl(meta, ...messages), asJson, JSON.stringify({ ...meta, messages })]) {
      expect(planOf({ text, file: 'f' })).toMatchObject({
        format: 'gemini-cli',
        conversations: [{ id: 's' }],
        report: { leftOut: [{ kind: 'message user' }, { kind: 'message info' }] },
      })
      const log = onlyLog(importFile({ text, file: 'f' }))
      expect(shownIn(log)).toEqual(history)
      expect(effective(log).items[1]).toMatchObject({
        origin: {
          model: 'gemini-3-pro',
          usage: { input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 5, total_tokens: 15 },
        },
      })
      expect(violations({ rendered: render(effective(log)) })).toEqual([])
    }
  })

  it('a message that is written again is one message; what it had is not repeated', () => {
    const log = logOf(
      user('u'),
      reply('r', 'I look.'),
      reply('r', 'I look.', { toolCalls: [call('1')] }),
      reply('r', 'I look.', { toolCalls: [call('1', [response('1', 'a.txt')])] }),
    )
    expect(log.map(({ type }) => type)).toEqual(['MessageAppended', 'MessageAppended', 'MessageAppended'])
    expect(shownIn(log)).toHaveLength(3)
    expect(shownIn(logOf(user('u'), reply('r', 'One.'), reply('r', 'Two.')))).toEqual([
      asked('u'),
      { summary: [answered('Two.')] },
    ])
  })

  it('a rewind drops a message and all after it, or everything if there is no such message', () => {
    const messages = [user('1'), reply('2'), user('3'), reply('4')]
    expect(shownIn(logOf(...messages, rewind('3'), user('5')))).toEqual([
      asked('1'),
      answered('2'),
      asked('5'),
    ])
    expect(shownIn(logOf(...messages, rewind('?'), user('5')))).toEqual([asked('5')])
    expect(planOf({ text: jsonl(meta, rewind('x'), user('1')), file: 'f' }).report.leftOut).toHaveLength(1)
  })

  it('a compression is a condense of what it replaced', () => {
    const log = logOf(
      user('1'),
      reply('2'),
      user('3'),
      reply('4', 'four', { thoughts: [{ description: 'Hm.' }] }),
      checkpoint(
        user('s', [{ text: '<state_snapshot>' }]),
        reply('t', [{ text: 'Got it.' }]),
        user('3', [{ text: '3' }]),
        reply('4', [{ text: 'Hm, really.', thought: true }, { text: 'fo' }, { text: 'ur' }]),
      ),
      user('5'),
    )
    expect(shownIn(log)).toEqual([
      { summary: [asked('<state_snapshot>'), answered('Got it.')] },
      asked('3'),
      said('assistant', { type: 'thinking', thinking: 'Hm.' }, textBlock('four')),
      asked('5'),
    ])
  })

  it('a masked result is an edit; the results in turns of their own are not repeated', () => {
    const calls = (one: string, two: string): Fields => {
      const parts = [response('1', one), response('2', two)]
      // Gemini CLI writes the results of the whole turn to each of its calls.
      return { toolCalls: [call('1', parts), call('2', parts)] }
    }
    const log = logOf(
      user('u'),
      reply('r', '', { toolCalls: [call('1', [response('1', 'long')]), call('2', [response('2', 'b')])] }),
      user('v'),
      checkpoint(
        user('u'),
        reply(
          'r',
          [{ functionCall: call('1'), thoughtSignature: 'x' }, { functionCall: call('2') }],
          calls('masked', 'b'),
        ),
        user('r_response', [response('1', 'masked'), response('2', 'b')]),
        user('v'),
      ),
    )
    expect(blocksIn(log).map(textOf)).toEqual(['u', 'call 1', 'call 2', '1: masked', '2: b', 'v'])
    expect(log.at(-1)).toMatchObject({ type: 'Condensed' })
    expect(violations({ rendered: render(effective(log)) })).toEqual([])
  })

  it('knows its title and the subagents that it started', () => {
    const started = { ...call('1', [response('1', 'done')]), agentId: 'sub-1' }
    const { conversations } = planOf({
      text: jsonl(meta, user('u'), reply('r', '', { toolCalls: [started] }), {
        $set: { summary: 'A title' },
      }),
      file: 'f',
    })
    expect(conversations[0]?.notes).toMatchObject([
      { data: { relation: 'has-subagent', conversation: 'sub-1', call: '1' } },
      { data: { kind: 'title', data: 'A title' } },
    ])
  })

  it('names the line that it cannot read', () => {
    const text = jsonl(
      meta,
      user('1'),
      reply('2', [7]),
      reply('3', [{ functionCall: { id: 'x' } }]),
      user('4'),
    )
    expect(left(parseSession({ text, file: 'f' }))).toMatchObject({ _tag: 'BadLine', line: 3 })
    const { report } = planOf({ text, file: 'f', skipBadLines: true })
    expect(report.badLines.map(({ line }) => line)).toEqual([3, 4])
    const torn = JSON.stringify({ ...meta, messages: [user('1')] }, undefined, 2).slice(0, -20)
    expect(left(parseSession({ text: torn, file: 'f' }))).toMatchObject({ _tag: 'BadLine', line: 11 })
  })
})

const blocksIn = (log: Log): readonly AnyBlock[] =>
  effective(log).items.flatMap((item) =>
    item.kind === 'truncation' ? [] : messagesOf(item).flatMap(({ content }) => content),
  )
const textOf = (block: AnyBlock): string => {
  const { type, text, id, tool_use_id: of, content } = block as unknown as Fields
  return type === 'text'
    ? String(text)
    : type === 'tool_use'
      ? `call ${String(id)}`
      : `${String(of)}: ${String(content)}`
}

/** A message as the rules of Gemini CLI have it: the file's lines are written from it, and so is the expected history. */
interface Said {
  readonly id: string
  readonly kind: 'user' | 'gemini' | 'unseen'
  readonly text: string
  /** Results of its calls; undefined before the call is answered. */
  readonly calls: readonly (string | undefined)[]
}
type Move =
  | { readonly do: 'user' | 'reply' | 'info' | 'command' | 'answer' | 'again' }
  | { readonly do: 'edit' | 'rewind' | 'mask'; readonly which: number }
  | { readonly do: 'compress'; readonly keeps: number }
  | { readonly do: 'drop'; readonly which: readonly boolean[] }

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constantFrom('user', 'reply', 'info', 'command', 'answer', 'again') }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('edit', 'rewind', 'mask'), which: fc.nat(30) }) },
  fc.record({ do: fc.constant('compress' as const), keeps: fc.nat(4) }),
  fc.record({ do: fc.constant('drop' as const), which: fc.array(fc.boolean(), { minLength: 1 }) }),
)

const callId = ({ id }: Said, at: number): string => `${id}-${at}`
const lineOf = (each: Said): Fields => {
  const { id, kind, text, calls } = each
  if (kind === 'unseen') return { ...user(id, text), type: text.startsWith('/') ? 'user' : 'info' }
  if (kind === 'user') return user(id, [{ text }])
  const toolCalls = calls.map((result, at) =>
    call(callId(each, at), result === undefined ? null : [response(callId(each, at), result)]),
  )
  return reply(id, text, { toolCalls, thoughts: [{ subject: 'A', description: 'thought' }] })
}
/** A message in a checkpoint: its calls are in its parts, and their results in another turn as well. */
const turnsOf = (each: Said): readonly Fields[] => {
  const { kind, text, calls } = each
  if (kind !== 'gemini') return [lineOf(each)]
  const use = calls.map((_, at) => ({ functionCall: call(callId(each, at)) }))
  const results = calls.flatMap((result, at) =>
    result === undefined ? [] : [response(callId(each, at), result)],
  )
  return [
    { ...lineOf(each), content: [{ text: 'thought', thought: true }, { text }, ...use] },
    ...(results.length > 0 ? [user(`${each.id}:r`, results)] : []),
  ]
}

const written = (
  moves: readonly Move[],
): { readonly lines: readonly Fields[]; readonly list: readonly Said[] } => {
  const lines: Fields[] = []
  let list: Said[] = []
  const put = (message: Said): void => {
    const at = list.findIndex(({ id }) => id === message.id)
    if (at < 0) list.push(message)
    else list[at] = message
    lines.push(lineOf(message))
  }
  const replace = (next: readonly Said[]): void => {
    lines.push(checkpoint(...next.flatMap(turnsOf)))
    // A turn of results is a message of the list, too: a rewind to it drops what is after it.
    list = next.flatMap((message): readonly Said[] =>
      turnsOf(message).length > 1
        ? [message, { id: `${message.id}:r`, kind: 'unseen', text: '', calls: [] }]
        : [message],
    )
  }
  const real = (): readonly Said[] => list.filter(({ id }) => !id.endsWith(':r'))
  for (const [index, each] of moves.entries()) {
    const fresh = { id: `m${index}`, text: `${each.do} ${index}`, calls: [] }
    const seen = list.filter(({ kind }) => kind !== 'unseen')
    const last = list.at(-1)
    switch (each.do) {
      case 'user':
        put({ ...fresh, kind: 'user' })
        break
      case 'reply':
        put({ ...fresh, kind: 'gemini', calls: Array.from({ length: index % 3 }, () => undefined) })
        break
      case 'info':
        put({ ...fresh, kind: 'unseen' })
        break
      case 'command':
        put({ ...fresh, kind: 'unseen', text: '/chat' })
        break
      case 'answer':
        if (last?.kind === 'gemini')
          put({ ...last, calls: [...last.calls.map(() => `result ${index}`), undefined] })
        break
      case 'again':
        if (last && !last.id.endsWith(':r')) put(last)
        break
      case 'edit': {
        const one = seen[each.which % seen.length]
        if (one) put({ ...one, text: fresh.text })
        break
      }
      case 'rewind': {
        const one = list[each.which % (list.length + 1)]
        lines.push(rewind(one?.id ?? 'unknown'))
        list = one ? list.slice(0, list.indexOf(one)) : []
        break
      }
      case 'mask': {
        const one = seen[each.which % seen.length]
        if (one)
          replace(
            real().map((message) =>
              message === one
                ? { ...message, calls: message.calls.map((result) => result && 'masked') }
                : message,
            ),
          )
        break
      }
      case 'compress': {
        const kept = seen.slice(Math.max(0, seen.length - each.keeps))
        replace([{ ...fresh, kind: 'user' }, { ...fresh, id: `${fresh.id}b`, kind: 'gemini' }, ...kept])
        break
      }
      case 'drop':
        replace(real().filter((_, at) => each.which[at % each.which.length]))
        break
    }
  }
  return { lines, list }
}

const historyOf = (list: readonly Said[]): readonly string[] =>
  list.flatMap((each) => {
    const { kind, text, calls } = each
    if (kind === 'unseen') return []
    return [
      text,
      ...calls.map((_, at) => `call ${callId(each, at)}`),
      ...calls.flatMap((result, at) => (result === undefined ? [] : [`${callId(each, at)}: ${result}`])),
    ]
  })

const shownTexts = (log: Log): readonly string[] =>
  blocksIn(log)
    .filter(({ type }) => type !== 'thinking')
    .map(textOf)

describe('sessions of Gemini CLI at random', () => {
  it('show what Gemini CLI would send, as a whole and cut off anywhere; what is rendered is valid', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 25 }), fc.nat(), (moves, where) => {
        const { lines, list } = written(moves)
        const text = jsonl(meta, ...lines)
        if (!/"m\d+b?","timestamp":"[^"]*","type":"(?:user","content":\[|gemini)/.test(text)) return
        const whole = onlyLog(importFile({ text, file: 'f' }))
        expect(shownTexts(whole)).toEqual(historyOf(list))
        const part = {
          text: text.slice(0, where % text.length),
          file: 'f',
          format: 'gemini-cli',
          skipBadLines: true,
        }
        // A part in which nothing is said is refused.
        const first = isRight(parseSession(part)) ? importFile(part) : undefined
        const grown = onlyLog(importFile({ text, file: 'f' }, first))
        expect(shownTexts(grown)).toEqual(historyOf(list))
        expect(violations({ rendered: render(effective(grown)) })).toEqual([])
      }),
      { numRuns: runs(500) },
    )
  })

  it('of the former kind, one JSON object, too', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 12 }), (moves) => {
        const { list } = written(moves)
        if (list.every(({ kind }) => kind === 'unseen')) return
        const messages = list.filter(({ id }) => !id.endsWith(':r')).map(lineOf)
        const text = JSON.stringify({ ...meta, messages }, undefined, 2)
        expect(shownTexts(onlyLog(importFile({ text, file: 'f' })))).toEqual(historyOf(list))
      }),
      { numRuns: runs(100) },
    )
  })
})
