import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Block, isBlock } from '../../src/events/blocks.ts'
import { openStore } from '../../src/index.ts'
import { effective } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { render } from '../../src/projections/render/render.ts'
import { messagesOf } from '../../src/projections/effective.ts'
import type { SessionFormatName } from '../../src/transfer/formats/plan.ts'
import { clients } from '../../src/transfer/formats/sessions/clients.ts'
import { type SessionView, sessionViewOf } from '../../src/transfer/formats/sessions/session-view.ts'
import { histories } from '../support/histories.ts'
import { runs, scale } from '../support/runs.ts'

type Said = readonly [role: string, block: unknown]

const target = {
  id: '01a22a6e-52f6-7e73-9a8e-482c99e0beec',
  cwd: '/home/dana',
  time: '2026-11-30T12:00:00.000Z',
}

const texts = (content: unknown): unknown =>
  typeof content === 'string' ? (content === '' ? [] : [{ type: 'text', text: content }]) : content

/** A reminder takes the place of a system message. */
const asSaid = ({ messages }: SessionView): readonly (readonly [string, Block])[] =>
  messages.flatMap(({ role, blocks }) => {
    if (role !== 'system') return blocks.map(({ block }) => [role, block] as const)
    const all = blocks.map(({ block }) => (isBlock(block, 'text') ? block.text : '')).join('\n')
    return [['user', { type: 'text', text: `<system-reminder>\n${all}\n</system-reminder>` }] as const]
  })

/** Codex holds messages of the role system. */
const asItems = ({ messages }: SessionView): readonly (readonly [string, Block])[] =>
  messages.flatMap(({ role, blocks }) => blocks.map(({ block }) => [role, block] as const))

/** What pi can hold of a block: texts and images; the text of a document; signed thinking. */
const inPi = (block: Block): unknown => {
  if (isBlock(block, 'redacted_thinking'))
    return { type: 'thinking', thinking: '[Reasoning redacted]', redacted: true, signature: block.data }
  if (isBlock(block, 'tool_result'))
    return { ...block, content: (texts(block.content) as readonly Block[]).map(inPi) }
  if (!isBlock(block, 'image') && !isBlock(block, 'document')) return block
  const { type, data, media_type } = block.source as unknown as Readonly<Record<string, unknown>>
  if (type === 'text') return { type: 'text', text: data }
  if (type === 'base64' && block.type === 'image')
    return { type: 'image', source: { type, media_type, data } }
  return {
    type: 'text',
    text: block.type === 'image' ? '[an image at a URL was here]' : '[a document was here]',
  }
}

/** What Codex and opencode can hold of a block: no thinking, texts and images; opencode only texts in results. */
const inOther = (name: 'codex' | 'opencode', block: Block, isOfResult = false): readonly unknown[] => {
  if (isBlock(block, 'thinking') || isBlock(block, 'redacted_thinking')) return []
  if (isBlock(block, 'tool_result')) {
    const parts = (texts(block.content) as readonly Block[]).flatMap((each) => inOther(name, each, true))
    const hasImage = parts.some((part) => (part as Block).type === 'image')
    const content = hasImage
      ? parts
      : texts(parts.map((part) => (part as Block & { readonly text: string }).text).join('\n'))
    const { is_error: isError, ...result } = block
    return [{ ...result, content, ...(name === 'opencode' && isError === true && { is_error: isError }) }]
  }
  if (!isBlock(block, 'image') && !isBlock(block, 'document')) return [block]
  const { type, data, media_type } = block.source as unknown as Readonly<Record<string, unknown>>
  if (type === 'text') return [{ type: 'text', text: data }]
  const isHeld = block.type === 'image' && (name === 'codex' || (type === 'base64' && !isOfResult))
  if (isHeld && type === 'base64') return [{ type: 'image', source: { type, media_type, data } }]
  if (isHeld)
    return [{ type: 'image', source: { type, url: (block.source as { readonly url?: string }).url } }]
  const kind = block.type === 'document' ? 'a document' : type === 'url' ? 'an image at a URL' : 'an image'
  return [{ type: 'text', text: `[${kind} was here]` }]
}

/** In opencode, a result is in its call, so results have the order of the calls. */
const inOrderOfCalls = (said: readonly Said[]): readonly Said[] => {
  const places = new Map(
    said.flatMap(([, block], place) =>
      (block as Block).type === 'tool_use' ? [[(block as Block)['id'], place]] : [],
    ),
  )
  const placeOf = ([, block]: Said): number => places.get((block as Block)['tool_use_id']) ?? 0
  const isResult = ([, block]: Said): boolean => (block as Block).type === 'tool_result'
  const results = said.filter(isResult).toSorted((one, other) => placeOf(one) - placeOf(other))
  return said.map((each) => (isResult(each) ? (results.shift() ?? each) : each))
}

const imported = async (name: SessionFormatName, view: SessionView): Promise<readonly Said[]> => {
  const { write } = await clients[name].load()
  const store = await openStore('memory:')
  const text = [...write(view, target).lines].join('')
  const { conversations } = await store.importSession({ file: 'a.jsonl', text, format: name })
  const [only, ...more] = conversations
  expect(more).toEqual([])
  const items = only ? await store.conversation(only.id).effective() : []
  await store.close()
  return items
    .flatMap((item) => messagesOf(item))
    .flatMap(({ role, content }) =>
      content.map((block): Said => [
        role,
        isBlock(block, 'tool_result') ? { ...block, content: texts(block.content) } : block,
      ]),
    )
}

const position = fc.nat(1_000_000)

describe('a conversation at any position, exported and imported again', () => {
  const viewOf = (log: Log, picked: number): Promise<SessionView> =>
    sessionViewOf(effective(log, picked % log.length))

  it.each(['claude-code', 'pi'] as const)('has the same effective history in %s', async (name) => {
    await fc.assert(
      fc.asyncProperty(histories(30), position, async (log, picked) => {
        fc.pre(log.length > 0)
        const view = await viewOf(log, picked)
        fc.pre(view.messages.length > 0)
        const expected = asSaid(view).map(([role, block]): Said => {
          const held = name === 'pi' ? inPi(block) : block
          const isResult = isBlock(block, 'tool_result')
          return [role, isResult ? { ...(held as Block), content: texts((held as Block)['content']) } : held]
        })
        expect(await imported(name, view)).toEqual(expected)
      }),
      { numRuns: scale < 1 ? runs(200) : 1_000 },
    )
  })

  it.each(['codex', 'opencode'] as const)(
    'has in %s the same effective history, save what is listed as lost',
    async (name) => {
      await fc.assert(
        fc.asyncProperty(histories(30), position, async (log, picked) => {
          fc.pre(log.length > 0)
          const view = await viewOf(log, picked)
          const said = name === 'codex' ? asItems(view) : asSaid(view)
          const expected = said.flatMap(([role, block]) =>
            inOther(name, block).map((held): Said => [role, held]),
          )
          fc.pre(expected.length > 0)
          const { lost } = (await clients[name].load()).write(view, target)
          const changed = said.filter(([, block]) =>
            JSON.stringify(inOther(name, block)).includes(' was here]'),
          )
          const left = said.filter(([, block]) => inOther(name, block).length === 0)
          expect(lost.some(({ kind }) => kind === 'media')).toBe(
            changed.length > 0 || view.lost.some(({ kind }) => kind === 'media'),
          )
          expect(lost.filter(({ kind }) => kind === 'thinking').length).toBeGreaterThanOrEqual(
            left.length > 0 ? 1 : 0,
          )
          expect(await imported(name, view)).toEqual(name === 'codex' ? expected : inOrderOfCalls(expected))
        }),
        { numRuns: scale < 1 ? runs(200) : 1_000 },
      )
    },
  )

  it('leaves nothing out that it does not list', async () => {
    await fc.assert(
      fc.asyncProperty(histories(30), position, async (log, picked) => {
        fc.pre(log.length > 0)
        const { messages } = render(effective(log, picked % log.length), { systemMessages: true })
        const view = await viewOf(log, picked)
        const blocks = messages.flatMap(({ content }) => content)
        const kept = view.messages.flatMap((message) => message.blocks)
        const lost = view.lost.filter(({ kind }) => kind === 'left-out' || kind === 'thinking')
        expect(blocks.length - kept.length).toBeLessThanOrEqual(lost.length)
        const types = new Set(blocks.map(({ type }) => type as string))
        for (const { block } of kept) if (block.type !== 'text') types.delete(block.type)
        types.delete('text')
        for (const type of types)
          expect(view.lost.map(({ detail }) => detail).join('\n')).toMatch(
            type.includes('thinking')
              ? /thinking/
              : type === 'compaction'
                ? /compaction/
                : new RegExp(`${type}|${type.replace('_', ' ')}`),
          )
      }),
      { numRuns: runs(300) },
    )
  })
})
