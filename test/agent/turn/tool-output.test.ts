import { type AnyBlock } from '../../../src/events/blocks.ts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerOf } from '../../../src/agent/turn/results/tool-output.ts'
import { toolNames } from '../../../src/agent/turn/results/tool-blocks.ts'
import { estimate } from '../../../src/agent/context/tokens/estimate.ts'
import { type Block, blockSchema } from '../../../src/events/blocks.ts'
import { check } from '../../../src/events/check.ts'
import { copyJson } from '../../../src/events/json.ts'
import { effective } from '../../../src/projections/effective.ts'
import { render } from '../../../src/projections/render/render.ts'
import { assistant, logOf, text, toolUse, user } from '../../support/log.ts'
import { right } from '../../support/either.ts'
import { runs } from '../../support/runs.ts'
import { imageOf as picture, pictures, png as pngFile } from '../../support/pictures.ts'

const png = pngFile()
const jpeg = Buffer.from(pictures.jpeg, 'base64')
const pdf = Buffer.from('%PDF-1.7 and so on', 'latin1')
const noise = Buffer.from([0, 255, 254, 7])
const base64 = (bytes: Buffer): string => bytes.toString('base64')
const audio = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }
const circular: Record<string, unknown> = {}
circular['self'] = circular

describe('what a tool gives back', () => {
  it.each<readonly [string, unknown, unknown]>([
    ['nothing', undefined, undefined],
    ['null', null, undefined],
    ['a text', 'done', 'done'],
    ['a number', 7, '7'],
    ['a boolean', false, 'false'],
    ['a bigint', 7n, '7'],
    ['an object', { rows: [1, 2] }, '{"rows":[1,2]}'],
    ['a list of texts', ['a', 'b'], '["a","b"]'],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a map', new Map([['a', 1]]), "Map(1) { 'a' => 1 }"],
    ['what contains itself', circular, '<ref *1> { self: [Circular *1] }'],
    ['bytes that are a text', Buffer.from('ä b'), 'ä b'],
    ['bytes of a part of a buffer', new Uint8Array(Buffer.from('xaby').buffer, 0, 0), ''],
    ['bytes of a picture', new Uint8Array(png), [picture(png)]],
    ['bytes of a PDF file', pdf, [{ ...picture(pdf, 'application/pdf'), type: 'document' }]],
    ['a blob', new Blob(['said']), 'said'],
    ['the answer of a fetch', new Response('fetched'), 'fetched'],
    ['blocks of the API', [text('a'), picture(png)], [text('a'), picture(png)]],
    ['one block', text('a'), [text('a')]],
    ['a picture without its data', { type: 'image' }, [text('{"type":"image"}')]],
    ['a block that nobody knows', [{ type: 'chart', x: 1 }], [text('{"type":"chart","x":1}')]],
  ])('as %s is told the model', async (_, output, content) => {
    expect(await answerOf(output)).toEqual(content === undefined ? {} : { content })
  })

  it.each<readonly [string, AnyBlock, readonly AnyBlock[]]>([
    ['a text', { ...text('a'), annotations: {}, _meta: {} }, [text('a')]],
    ['a picture', { type: 'image', data: base64(png), mimeType: 'image/png' }, [picture(png)]],
    [
      'a picture that is called another one, as a data URL',
      { type: 'image', data: `data:image/png;base64,${base64(jpeg)}`, mimeType: 'image/png' },
      [picture(jpeg, 'image/jpeg')],
    ],
    [
      'a resource of text',
      { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'said' } },
      [text('[resource, file:///a, text/plain]\nsaid')],
    ],
    [
      'a resource of a picture',
      { type: 'resource', resource: { uri: 'file:///a', blob: base64(png) } },
      [text('[resource, file:///a]'), picture(png)],
    ],
    [
      'a resource of bytes that are a text',
      { type: 'resource', resource: { uri: 'file:///a', blob: base64(Buffer.from('said')) } },
      [text('[resource, file:///a]\nsaid')],
    ],
    [
      'a link',
      { type: 'resource_link', uri: 'file:///a', name: 'a', mimeType: 'text/plain' },
      [text('[resource_link, a, file:///a, text/plain]')],
    ],
    ['sound', audio, [text('[audio, audio/wav, 3 bytes: recorded, but you cannot be shown it]'), audio]],
    [
      'a picture that no model takes',
      { type: 'image', data: base64(noise), mimeType: 'image/tiff' },
      [
        text('[image, image/tiff, 4 bytes: recorded, but you cannot be shown it]'),
        { type: 'image', data: base64(noise), mimeType: 'image/tiff' },
      ],
    ],
  ])('in the form of an MCP client, %s, takes the API’s form', async (_, block, content) => {
    expect(await answerOf({ content: [block] })).toEqual({ content })
    expect(await answerOf(block)).toEqual({ content })
  })

  const of = (media_type: string, data: string, type = 'base64') => ({ source: { type, media_type, data } })
  const unseen = (data: string, mimeType: string): AnyBlock => ({ type: 'image', data, mimeType })
  const note = (said: string): Block => text(`[${said}: recorded, but you cannot be shown it]`)
  it.each<readonly [string, AnyBlock, readonly AnyBlock[]]>([
    [
      'a picture that is called another one',
      { ...picture(jpeg, 'image/jpg'), alt: 'a', cache_control: { type: 'ephemeral' } },
      [{ ...picture(jpeg, 'image/jpeg'), cache_control: { type: 'ephemeral' } }],
    ],
    [
      'a picture that no model takes',
      picture(noise, 'image/bmp'),
      [note('image, image/bmp, 4 bytes'), unseen(base64(noise), 'image/bmp')],
    ],
    [
      'a picture of nothing',
      { type: 'image', ...of('image/png', '') },
      [note('image, image/png, 0 bytes'), unseen('', 'image/png')],
    ],
    [
      'a picture as a data URL in place of base64',
      { type: 'image', ...of('image/png', `data:image/png;base64,${base64(png)}`) },
      [picture(png)],
    ],
    [
      'a picture as a data URL in place of an address',
      { type: 'image', source: { type: 'url', url: `data:image/png;base64,${base64(png)}` } },
      [picture(png)],
    ],
    [
      'a picture at an address',
      { type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } },
      [{ type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } }],
    ],
    ['a text with more fields', { ...text('a'), extra: 1, cache_control: 'yes' }, [text('a')]],
    [
      'a PDF file as a data URL',
      { type: 'document', title: ' ', ...of('text/html', `data:;base64,${base64(pdf)}`) },
      [{ type: 'document', ...of('application/pdf', base64(pdf)) }],
    ],
    [
      'a document of base64 that is a text',
      { type: 'document', title: 'T', ...of('text/html', base64(Buffer.from('said'))) },
      [{ type: 'document', title: 'T', ...of('text/plain', 'said', 'text') }],
    ],
    [
      'a document that no model takes',
      { type: 'document', title: 'T', ...of('application/pdf', base64(noise)) },
      [
        note('document, T, application/pdf, 4 bytes'),
        { type: 'document', data: base64(noise), mimeType: 'application/pdf' },
      ],
    ],
    [
      'a document without a text',
      { type: 'document', title: 'T', ...of('text/plain', ' ', 'text') },
      [text('[document, T, empty]')],
    ],
    [
      'a document of blocks',
      { type: 'document', source: { type: 'content', content: [text(' '), text('a'), { type: 'b' }] } },
      [{ type: 'document', source: { type: 'content', content: [text('a')] } }],
    ],
    [
      'a search result with a blank text and no title',
      { type: 'search_result', source: 's', title: '', score: 1, content: [text(' '), text('a')] },
      [{ type: 'search_result', source: 's', title: 's', content: [text('a')] }],
    ],
    [
      'a search result without a text',
      { type: 'search_result', source: 's', title: 't', content: [text(' ')] },
      [text('[search_result, t, s, empty]')],
    ],
    [
      'a search result without a source',
      { type: 'search_result', title: 't', content: [] },
      [text('{"type":"search_result","title":"t","content":[]}')],
    ],
    [
      'a reference to a tool that there is not',
      { type: 'tool_reference', tool_name: 'gone' },
      [text('[tool_reference, gone: there is no such tool]')],
    ],
    [
      'a reference to a tool',
      { type: 'tool_reference', tool_name: 'read' },
      [{ type: 'tool_reference', tool_name: 'read' }],
    ],
  ])('in the form of the API, %s, becomes what the API takes', async (_, block, content) => {
    const answer = await answerOf([block], { tools: toolNames([{ name: 'read' }]) })
    expect(answer).toEqual({ content })
    // It is shown as it is, but for what is only recorded.
    const result = { type: 'tool_result', tool_use_id: 'a', ...answer }
    const { messages } = render(effective(logOf(user('Run.'), assistant([toolUse('a')]), user([result]))))
    expect(messages.at(-1)?.content[0]?.['content']).toEqual(content.filter((each) => !('data' in each)))
  })

  it('may refer to any tool where a server names its own', async () => {
    const block = { type: 'tool_reference', tool_name: 'theirs' }
    const tools = toolNames([{ name: 'read' }, { type: 'mcp_toolset', mcp_server_name: 'a' }])
    expect(await answerOf([block], { tools })).toEqual({ content: [block] })
  })

  it('as the result of an MCP client keeps whether it failed, and what is structured', async () => {
    expect(await answerOf({ content: [text('no')], isError: true })).toEqual({
      content: [text('no')],
      is_error: true,
    })
    const structuredContent = { sum: 3 }
    expect(await answerOf({ content: [], structuredContent })).toEqual({ content: [text('{"sum":3}')] })
    expect(await answerOf({ content: [text('3')], structuredContent })).toEqual({ content: [text('3')] })
  })

  it('and no model can be shown costs no tokens, and is recorded', async () => {
    const long = { ...audio, data: 'AAAA'.repeat(100_000) }
    const { content } = await answerOf([long])
    expect(content).toContainEqual(long)
    expect(estimate([{ type: 'tool_result', tool_use_id: 'a', content }])).toBeLessThan(100)
  })

  it('is never refused: it becomes a result that is stored and sent', async () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      withNullPrototype: true,
    })
    const type = fc.constantFrom(
      'text',
      'image',
      'audio',
      'resource',
      'document',
      'search_result',
      'thinking',
    )
    const block = fc
      .tuple(type, fc.dictionary(fc.constantFrom('text', 'data', 'source', 'resource', 'title'), anything))
      .map(([named, fields]) => ({ ...fields, type: named }))
    const outputs = fc.oneof(anything, block, fc.record({ content: fc.array(block) }))
    await fc.assert(
      fc.asyncProperty(outputs, async (output) => {
        const result = { type: 'tool_result', tool_use_id: 'a', ...(await answerOf(output)) }
        right(check(blockSchema, result))
        right(copyJson(result))
        const log = logOf(user('Run.'), assistant([toolUse('a')]), user([result]))
        const { messages, repairs } = render(effective(log))
        expect(messages.at(-1)?.content[0]).toMatchObject({ type: 'tool_result', tool_use_id: 'a' })
        const isTold = JSON.stringify(messages).includes('you cannot be shown it')
        if (!isTold) expect(repairs.filter(({ kind }) => kind === 'block-dropped')).toEqual([])
      }),
      { numRuns: runs(500) },
    )
  })
})
