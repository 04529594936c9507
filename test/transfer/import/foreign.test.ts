import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSession } from '../../../src/transfer/formats/parse-session.ts'
import type { ImportPlan, StoredImport } from '../../../src/transfer/formats/plan.ts'
import { left, right } from '../../support/either.ts'
import { jsonl } from '../../support/import-log.ts'

const foreign = [
  [
    'a Codex rollout of before September 2025',
    jsonl(
      { id: 'x', timestamp: 't', instructions: null, git: {} },
      { type: 'message', role: 'user', content: [] },
    ),
  ],
  [
    'Gemini CLI’s list of prompts',
    JSON.stringify([{ sessionId: 's', messageId: 0, type: 'user', message: 'Hi' }]),
  ],
  [
    'an Entire transcript',
    jsonl({ v: 1, agent: 'codex', cli_version: '1', type: 'user', ts: 't', content: [] }),
  ],
  ['Claude Code’s list of prompts', jsonl({ display: 'Hi', pastedContents: {}, timestamp: 1 })],
  [
    'Claude Code’s stream-json output',
    jsonl(
      { type: 'system', subtype: 'init', session_id: 's' },
      { type: 'assistant', session_id: 's', parent_tool_use_id: null, message: {} },
    ),
  ],
  ['a Goose session', jsonl({ working_dir: '/', message_count: 1 }, { role: 'user', content: [] })],
  ['a Cursor transcript', jsonl({ role: 'user', message: { content: [{ type: 'text', text: 'Hi' }] } })],
  ['a Copilot chat', JSON.stringify({ responderUsername: 'x', requests: [] })],
  ['a ChatGPT export', JSON.stringify([{ title: 't', mapping: {}, current_node: 'n' }])],
  ['a Claude.ai export', JSON.stringify([{ uuid: 'u', name: 'n', chat_messages: [] }])],
  ['what Cline or Roo Code shows', JSON.stringify([{ ts: 1, type: 'say', say: 'text', text: 'Hi' }])],
  ['a ShareGPT list', JSON.stringify([{ conversations: [{ from: 'human', value: 'Hi' }] }])],
  ['an aider chat', '\n# aider chat started at 2026-01-01 00:00:00\n\n#### hi\n'],
  ['a SQLite database', 'SQLite format 3\u0000'],
] as const

/** Small files as these programs write them, in `test/samples/foreign`. */
const files = [
  ['amp.json', 'an Amp thread'],
  ['claude-sdk-stream.jsonl', 'Claude Code’s stream-json output'],
  ['claudeai.json', 'a Claude.ai export'],
  ['codex-exec.jsonl', 'the output of codex exec'],
  ['copilot-chat-v4.jsonl', 'a Copilot chat'],
  ['copilot-chat.json', 'a Copilot chat'],
  ['cursor-composer.json', 'a Cursor composer'],
  ['droid.jsonl', 'a Factory Droid session'],
  ['kimi-context.jsonl', 'the context of a Kimi session'],
  ['langchain-lc.json', 'a list of LangChain messages'],
  ['langchain-messages.json', 'a list of LangChain messages'],
  ['langgraph-state.json', 'a LangGraph state'],
  ['letta.json', 'a Letta agent'],
  ['opencode-message.json', 'part of an OpenCode session'],
  ['openhands-sdk-event.json', 'an OpenHands session'],
  ['openhands.json', 'an OpenHands session'],
  ['qwen.jsonl', 'a Qwen Code session'],
  ['swe.json', 'a SWE-agent trajectory'],
  ['tau2.json', 'the results of tau2-bench'],
] as const

describe('a file of a format that is known and not supported', () => {
  it.each(foreign)('is told by name: %s', (name, text) => {
    for (const skipBadLines of [false, true])
      expect(left(parseSession({ text, file: 'f', skipBadLines }))).toMatchObject({
        _tag: 'UnsupportedFormat',
        message: expect.stringMatching(
          new RegExp(`^f: this is ${name}.*: not supported yet; .*register a format`),
        ),
        found: expect.stringContaining(name),
      })
  })

  it.each(files)('is named, one line or many: %s is %s', (file, name) => {
    const text = readFileSync(new URL(`../../samples/foreign/${file}`, import.meta.url), 'utf8')
    const list = file.endsWith('.json') ? [JSON.parse(text) as unknown].flat() : []
    const written = list.length > 1 ? `[\n${list.map((item) => JSON.stringify(item)).join(',\n')}\n]\n` : text
    const texts = file.endsWith('.json')
      ? [text, JSON.stringify(JSON.parse(text), undefined, 2), written]
      : [text]
    for (const each of texts)
      expect(left(parseSession({ text: each, file }))).toMatchObject({
        _tag: 'UnsupportedFormat',
        found: expect.stringMatching(new RegExp(`^${name}`)),
      })
  })

  it.each(files)(
    'is named after a byte order mark, with CR LF, and if its first line is torn: %s is %s',
    (file, name) => {
      const text = readFileSync(new URL(`../../samples/foreign/${file}`, import.meta.url), 'utf8')
      const first = text.indexOf('\n')
      const texts = [`\uFEFF${text}`, `\uFEFF${text.replaceAll('\n', '\r\n')}`, `\n\n${text}`]
      if (file.endsWith('.jsonl') && first < text.length - 1)
        texts.push(text.slice(first + 1), text.slice(first / 2), text.slice(0, first / 2) + text.slice(first))
      for (const each of texts)
        expect(left(parseSession({ text: each, file }))).toMatchObject({
          _tag: 'UnsupportedFormat',
          found: expect.stringMatching(new RegExp(`^${name}`)),
        })
    },
  )

  it('has a sample and a case for each name', () => {
    const folder = new URL('../../samples/foreign/', import.meta.url)
    expect(readdirSync(folder).toSorted()).toEqual(files.map(([file]) => file))
  })
})

describe('a file that tells nothing', () => {
  it('is not taken for any program’s, whatever JSON it has', () => {
    const field = fc.constantFrom('type', 'role', 'id', 'message', 'content', 'data', 'v', 'kind', 'source')
    const value = fc.oneof(fc.jsonValue(), fc.dictionary(field, fc.jsonValue()))
    fc.assert(
      fc.property(fc.oneof(value, fc.array(value)), (json) => {
        fc.pre(!JSON.stringify(json).includes('"role"'))
        const text = JSON.stringify(json)
        expect(left(parseSession({ text, file: 'f' }))).toMatchObject({
          _tag: 'UnknownFormat',
          message: expect.stringContaining('name its format'),
        })
      }),
    )
  })

  it('of whole lines is not taken for a document that breaks off', () => {
    const text = jsonl({ kind: 'x', role: 'user' }, { kind: 'y' })
    expect(left(parseSession({ text, file: 'f' }))).toMatchObject({ _tag: 'UnknownFormat' })
  })
})

describe('a file in which nothing is said', () => {
  it('is no conversation, whatever it configures', () => {
    for (const text of [
      jsonl({ type: 'session', id: 'p' }, { type: 'model_change', id: 'a', parentId: null, modelId: 'm' }),
      JSON.stringify({ model: 'm', messages: [] }),
    ])
      expect(right(parseSession({ text, file: 'f' })).conversations).toEqual([])
  })
})

describe('two JSON objects on one line', () => {
  const entry = (uuid: string | undefined, content: string): string =>
    JSON.stringify({
      uuid,
      parentUuid: undefined,
      sessionId: 's',
      type: 'user',
      message: { role: 'user', content },
    })
  const read = (text: string, format: 'claude-code' | 'openai' = 'claude-code'): unknown =>
    refsOf(right(parseSession({ text, file: 'f', format })))
  const refsOf = (plan: ImportPlan | StoredImport): readonly string[] =>
    plan.conversations.flatMap((each) =>
      'actions' in each ? Array.from(each.actions, ({ ref }) => ref) : [],
    )

  it('are both read', () => {
    expect(read(`${entry('a', '1')}${entry('b', '2')} ${entry('c', '3')}\n${entry('d', '4')}\n`)).toEqual([
      'a',
      'b',
      'c',
      'd',
    ])
    expect(read(`${entry(undefined, '1')}${entry(undefined, '2')}\n`)).toEqual(['line-1', 'line-1.2'])
  })

  it('are both read in a file of conversations', () => {
    const one = JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] })
    expect(
      right(parseSession({ text: `${one}${one}\n${one}\n`, file: 'f', format: 'openai' })).conversations,
    ).toHaveLength(3)
  })

  it('of which the second is torn are a bad line', () => {
    expect(left(parseSession({ text: `${entry('a', '1')}{"uu`, file: 'f' }))).toMatchObject({
      _tag: 'BadLine',
      line: 1,
    })
    const skipped = right(parseSession({ text: `${entry('a', '1')}{"uu`, file: 'f', skipBadLines: true }))
    expect(skipped).toMatchObject({ report: { badLines: [{ line: 1 }] } })
    expect(refsOf(skipped)).toEqual(['a'])
  })
})

describe('what a file leaves to guess is reported', () => {
  const said = (uuid: string, parentUuid: string | null, more: object = {}): object => ({
    uuid,
    parentUuid,
    sessionId: 's',
    type: 'user',
    message: { role: 'user', content: uuid },
    ...more,
  })
  const pi = (id: string, parentId: string | null, content = id): object => ({
    type: 'message',
    id,
    parentId,
    message: { role: 'user', content },
  })
  const header = { type: 'session', version: 3, id: 'p' }
  const report = (
    ...entries: readonly object[]
  ): { readonly notes: readonly string[]; readonly leftOut: readonly unknown[] } =>
    right(parseSession({ text: jsonl(...entries), file: 'f' })).report

  it('a parent that is not in the file', () => {
    expect(report(said('a', 'gone'), said('b', 'a')).notes).toMatchObject([expect.stringContaining('parent')])
    expect(report(header, pi('a', 'gone')).notes).toMatchObject([expect.stringContaining('parent')])
    expect(report(said('a', null), said('b', 'a')).notes).toEqual([])
    expect(report(header, pi('a', null), pi('b', 'a')).notes).toEqual([])
  })

  it('a second entry of one id, with the same words or with others', () => {
    const other = { message: { role: 'user', content: 'other' } }
    for (const entries of [
      [said('a', null), said('a', null), said('a', null, other)],
      [header, pi('a', null), pi('a', null), pi('a', null, 'other')],
    ])
      expect(report(...entries).leftOut).toMatchObject([
        { count: 1, reason: 'a repetition of an earlier entry' },
        { count: 1, reason: expect.stringContaining('different content') },
      ])
  })

  it('entries of two sessions', () => {
    const two = report(said('a', null), said('b', 'a', { sessionId: 't' }))
    expect(two.notes).toMatchObject([expect.stringContaining('2 sessions')])
    expect(report(header, { ...header, id: 'q' }).notes).toMatchObject([
      expect.stringContaining('2 sessions'),
    ])
  })
})

describe('the id of a conversation', () => {
  const idOf = (sessionId: string): string | undefined =>
    right(
      parseSession({
        text: jsonl({ uuid: 'a', sessionId, type: 'user', message: { role: 'user', content: 'x' } }),
        file: 'f',
      }),
    ).conversations[0]?.id

  it('tells session ids of other alphabets, and very long ones, apart', () => {
    const ids = ['сессия', 'беседа', '会話', '対話', 'é', 'è', 'x'.repeat(300), `${'x'.repeat(299)}y`]
    expect(new Set(ids.map(idOf)).size).toBe(ids.length)
    for (const id of ids) expect(idOf(id)).toMatch(/^[A-Za-z0-9._:-]{1,200}$/)
  })

  it('begins with a letter or a digit, so that no option of the command line is taken for it', () => {
    for (const id of ['日本', '-', '---', '--store', '._:', ' ', '\u0000', '😀', '-é'])
      expect(idOf(id)).toMatch(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/)
    expect(idOf('日本')).toMatch(/^session-[0-9a-f]{16}$/)
    expect(idOf('--store')).toMatch(/^store-[0-9a-f]{16}$/)
    expect(idOf('会話a')).toMatch(/^a-[0-9a-f]{16}$/)
    expect(new Set(['store', '-store', '--store', '.', '_', '日'].map(idOf)).size).toBe(6)
  })

  it('stays the session id where that is one', () => {
    expect(idOf('a.B_c:d-1')).toBe('a.B_c:d-1')
    expect(idOf('a b/c')).toBe('a-b-c')
  })
})
