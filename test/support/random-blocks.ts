import * as fc from 'fast-check'
import type { AnyBlock } from '../../src/events/blocks.ts'
import { text, thinking } from './log.ts'

// Random content blocks, valid ones and all that a recorder may meet.

/** Where a block will stand: `place` is unique in the log; ids of tool calls and of server tool uses so far, the newest first. */
export interface Scene {
  readonly place: string
  readonly calls: readonly string[]
  readonly servers: readonly string[]
}
export type Blocks = (scene: Scene) => readonly AnyBlock[]

type Mark = { readonly cache_control?: { readonly type: string; readonly ttl?: string } }
const mark: fc.Arbitrary<Mark> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Mark>(
      { cache_control: { type: 'ephemeral' } },
      { cache_control: { type: 'ephemeral', ttl: '5m' } },
      { cache_control: { type: 'ephemeral', ttl: '1h' } },
    ),
  },
)

export const words = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('Hello.', 'Fix it.', 'a longer text, so that tokens count', '😀') },
  { weight: 2, arbitrary: fc.constantFrom('', ' ', '\n\t', 'ends in space \n', 'half \ud83d', '\udc00') },
)

const texts: fc.Arbitrary<Blocks> = fc
  .tuple(words, mark, fc.constantFrom({}, {}, {}, { citations: [] }, { unknown_field: 1 }))
  .map(([value, cache, more]) => () => [{ ...text(value), ...cache, ...more }])

const input: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ path: 'a.ts' }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>({}, 'not json', null, [1], 7, JSON.parse('{"__proto__":{"x":1}}'), {
      t: '\ud800',
    }),
  },
)

/** Calls in parallel, as a rule with fresh ids. */
export const calls: fc.Arbitrary<Blocks> = fc
  .array(fc.tuple(fc.nat(11), input, mark), { minLength: 1, maxLength: 3 })
  .map(
    (plans) => (scene) =>
      plans.map(([kind, given, cache], index) => ({
        type: 'tool_use',
        id: callId(kind, index, scene),
        name: 'run',
        input: given,
        ...(kind === 3 && { caller: { type: 'code_execution', tool_id: scene.servers[0] ?? 'nobody' } }),
        ...cache,
      })),
  )

const callId = (kind: number, index: number, { place, calls: earlier }: Scene): string => {
  if (kind === 0) return earlier[index] ?? 'twice'
  if (kind === 1) return `bad id/${place}_${index}`
  return kind === 2 ? 'twice' : `call_${place}_${index}`
}

const resultContent: fc.Arbitrary<Record<string, unknown>> = fc.constantFrom<Record<string, unknown>>(
  { content: 'ok' },
  { content: 'ok' },
  { content: '' },
  { content: ' ' },
  {},
  { content: [] },
  { content: [text('one'), text(' ')] },
  { content: [{ ...text('marked'), cache_control: { type: 'ephemeral' } }] },
  { content: [thinking('inside'), { type: 'image', source: { type: 'base64' } }] },
  { content: [{ type: 'text' }, { type: 'image' }, { type: 'document', source: null }, text('whole')] },
  { content: 'half \udfff', is_error: true },
)

/** A result of one of the last calls, or of none. */
export const result: fc.Arbitrary<Blocks> = fc
  .tuple(fc.nat(6), resultContent, mark)
  .map(([which, content, cache]) => ({ calls: earlier }) => [
    { type: 'tool_result', tool_use_id: earlier[which] ?? 'nobody', ...content, ...cache },
  ])

/** Signatures are unique in a log, so that a thinking block can be told from every other. */
export const thoughts: fc.Arbitrary<Blocks> = fc
  .tuple(fc.nat(15), mark)
  .map(([kind, cache]) => ({ place }) => {
    const signature = `signature_${place}`
    if (kind === 0) return [{ type: 'thinking', thinking: 'no signature' }]
    if (kind === 1) return [thinking('', 'empty signature')]
    if (kind === 2) return [thinking(signature, 'half \ud83d')]
    if (kind === 3) return [{ ...thinking(signature), ...cache }]
    if (kind < 6) return [{ type: 'redacted_thinking', data: signature }]
    if (kind === 6) return [thinking(signature), { type: 'redacted_thinking', data: `more_${signature}` }]
    return [thinking(signature, kind === 7 ? '' : 'hm')]
  })

const serverTools: fc.Arbitrary<Blocks> = fc.nat(9).map((kind) => ({ place, calls: earlier }) => {
  const id = kind === 0 ? (earlier[0] ?? 'twice') : kind === 1 ? 'server_twice' : `server_${place}`
  const use = { type: 'server_tool_use', id, name: 'web_search', input: {} }
  const found = { type: 'web_search_tool_result', tool_use_id: id, content: [] }
  if (kind === 2 || kind > 7) return [use]
  if (kind === 3) return [found]
  if (kind === 4) return [found, use, found]
  if (kind === 5)
    return [
      { ...use, type: 'mcp_tool_use' },
      { ...found, type: 'mcp_tool_result' },
    ]
  return [use, text('meanwhile'), found]
})

const rare: fc.Arbitrary<Blocks> = fc
  .constantFrom<AnyBlock>(
    { type: 'future_block', deep: { x: [1] } },
    { type: 'image', source: { type: 'base64', data: '' } },
    { type: 'document', source: { type: 'text' } },
    { type: 'search_result', source: 'a' },
    { type: 'container_upload', file_id: 'f' },
    { type: 'compaction', content: 'what came before' },
    { type: 'compaction', content: null },
    { type: 'compaction', content: '' },
  )
  .map((block) => () => [block])

/** Results of the last server tool uses, wherever those stand. */
const served: fc.Arbitrary<Blocks> = fc.nat(2).map(
  (most) =>
    ({ servers }) =>
      servers
        .slice(0, 1 + most)
        .map((id) => ({ type: 'web_search_tool_result', tool_use_id: id, content: [] })),
)

/** What an assistant says: results of server tools, thinking, text, calls, server tools. */
export const reply: fc.Arbitrary<Blocks> = fc
  .tuple(
    fc.option(served, { freq: 1 }),
    fc.option(thoughts, { freq: 2 }),
    fc.option(texts, { freq: 4 }),
    fc.option(serverTools, { freq: 1 }),
    fc.option(calls, { freq: 2 }),
    fc.nat(9),
  )
  .map(([found, thought, words_, server, called, order]) => (scene) => {
    const parts = [found, thought, words_, server, called].flatMap((part) => part?.(scene) ?? [])
    return order === 0 ? parts.toReversed() : parts
  })

/** Anything, wherever it may stand. */
export const anyBlocks: fc.Arbitrary<Blocks> = fc
  .array(fc.oneof(texts, calls, result, thoughts, serverTools, rare), { maxLength: 4 })
  .map(
    (parts) => (scene) =>
      parts.flatMap((part, index) => part({ ...scene, place: `${scene.place}_${index}` })),
  )

export const someText: fc.Arbitrary<Blocks> = texts
