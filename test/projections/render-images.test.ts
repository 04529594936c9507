import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import type { Event } from '../../src/events/events.ts'
import { assistant, said, text, thinking, toolResult, toolUse, user } from '../support/log.ts'
import { imageOf, pictures, png } from '../support/pictures.ts'
import { violations } from '../support/predicates.ts'
import { renderLog } from '../support/render-log.ts'

const rendered = (...events: readonly Event[]) => renderLog(events)

/** The blocks of a request inside and outside of tool results. */
const shownIn = (events: readonly Event[]): readonly Block[] =>
  rendered(...events).messages.flatMap(({ content }) =>
    (content as readonly Block[]).flatMap((block) =>
      block.type === 'tool_result' && Array.isArray(block.content)
        ? (block.content as readonly Block[])
        : [block],
    ),
  )
const imagesIn = (events: readonly Event[]): number =>
  shownIn(events).filter(({ type }) => type === 'image').length
const repairsOf = (events: readonly Event[], kind: string): number =>
  rendered(...events).repairs.filter((repair) => repair.kind === kind).length

/** An image in a message of the user, and in a result. */
const bothWays = (block: Block): readonly (readonly Event[])[] => [
  [user([text('See.'), block])],
  [user('Look.'), assistant([toolUse('a')]), user([toolResult('a', [text('See.'), block])])],
]

describe('an image', () => {
  const data = png().toString('base64')
  const address = (url: string): Block => ({ type: 'image', source: { type: 'url', url } })
  it.each<readonly [string, Block]>([
    ['a PNG file', imageOf(data)],
    ['a JPEG file', imageOf(pictures.jpeg, 'image/jpeg')],
    ['a GIF file', imageOf(pictures.gif, 'image/gif')],
    ['a WebP file', imageOf(pictures.webp, 'image/webp')],
    ['a WebP file without loss', imageOf(pictures.lossless, 'image/webp')],
    ['a WebP file with transparency', imageOf(pictures.transparent, 'image/webp')],
    ['at an address', address('https://example.org/a.png')],
    ['in a file', { type: 'image', source: { type: 'file', file_id: 'f' } }],
    ['of 8,000 pixels on a side', imageOf(png(8_000, 2))],
  ])('%s is sent as it is', (_, block) => {
    for (const events of bothWays(block)) {
      expect(shownIn(events)).toContainEqual(block)
      expect(rendered(...events).repairs).toEqual([])
    }
  })

  it.each<readonly [string, Block, Block]>([
    ['called another type', imageOf(data, 'image/jpeg'), imageOf(data)],
    ['of no type', { type: 'image', source: { type: 'base64', data } }, imageOf(data)],
    ['with the beginning of a data URL', imageOf(`data:image/gif;base64,${data}`), imageOf(data)],
    ['at a data URL', address(`data:image/png;base64,${data}`), imageOf(data)],
    ['in lines', imageOf(data.replaceAll(/.{20}/g, '$&\r\n')), imageOf(data)],
    [
      'without padding',
      imageOf(pictures.jpeg.replace('=', ''), 'image/jpeg'),
      imageOf(pictures.jpeg, 'image/jpeg'),
    ],
    ['in the alphabet for addresses', imageOf(png().toString('base64url')), imageOf(data)],
  ])('%s is sent as what it is, and said', (_, block, sent) => {
    for (const events of bothWays(block)) {
      expect(shownIn(events)).toContainEqual(sent)
      expect(repairsOf(events, 'source-corrected')).toBe(1)
    }
  })

  it.each<readonly [string, Block, string]>([
    ['of 9,000 pixels', imageOf(png(9_000, 20)), 'it has 9000 × 20 pixels, and a side may have 8000'],
    [
      'of 8 MB of base64',
      imageOf(png(40, 30, 6_000_000)),
      ' characters of base64, and a picture may have 5242880',
    ],
    ['that is a text', imageOf(Buffer.from('Not a picture at all.')), 'models take'],
    ['that is not base64', imageOf('?'), 'models take'],
    ['that is a BMP file', imageOf(Buffer.from('BM and so on'), 'image/bmp'), 'models take'],
    ['that ends before its size', imageOf(png().subarray(0, 10)), 'models take'],
    ['of no pixels', imageOf(png(0, 30)), 'models take'],
    ['that is an endless chain of segments', imageOf(`/9j/${'4AAC'.repeat(100_000)}`), 'models take'],
  ])('%s gives way to a text that says so, with a repair', (_, block, why) => {
    for (const events of bothWays(block)) {
      expect(imagesIn(events)).toBe(0)
      const { messages, repairs } = rendered(...events)
      expect(JSON.stringify(messages)).toMatch(/\[Not shown: image, it [^\]]*\]/)
      expect(JSON.stringify(messages)).toContain(why)
      expect(repairs).toMatchObject([{ kind: 'media-replaced' }])
    }
  })

  it('keeps its breakpoint where a text replaces it', () => {
    const cache_control = { type: 'ephemeral' }
    expect(shownIn([user([{ ...imageOf('?'), cache_control }])])).toMatchObject([
      { type: 'text', cache_control },
    ])
  })

  it('inside of a document is treated as any', () => {
    const of = (...content: readonly Block[]): Block => ({
      type: 'document',
      source: { type: 'content', content },
    })
    expect(shownIn([user([of(text('See.'), imageOf(data, 'image/gif'))])])).toEqual([
      of(text('See.'), imageOf(data)),
    ])
    expect(shownIn([user([of(imageOf('?'))])])).toMatchObject([{ source: { content: [{ type: 'text' }] } }])
  })
})

describe('more images than a request may hold', () => {
  const small = imageOf(png())
  const large = imageOf(png(2_400, 1_800))
  /** A round for each: the user shows an image, the assistant looks at it. */
  const rounds = (images: readonly Block[]): readonly Event[] =>
    images.flatMap((image, index) => [user([text(`${index}`), image]), assistant('I see.')])
  const many = (count: number, image = small): readonly Block[] => Array.from({ length: count }, () => image)
  /** How many of so many images are shown, the last ones. */
  const shownOf = (images: readonly Block[]): number => {
    const kept = shownIn(rounds(images)).filter(
      ({ type, text: words }) => type === 'image' || String(words).startsWith('[Not'),
    )
    const count = kept.filter(({ type }) => type === 'image').length
    expect(kept.slice(kept.length - count).every(({ type }) => type === 'image')).toBe(true)
    expect(kept).toHaveLength(images.length)
    expect(repairsOf(rounds(images), 'media-replaced')).toBe(images.length - count)
    return count
  }

  it.each<readonly [string, readonly Block[], number]>([
    ['100', many(100), 100],
    ['101: half of the room is freed', many(101), 50],
    ['120: nothing gives way again meanwhile', many(120), 69],
    ['20 large ones', many(20, large), 20],
    ['21 large ones', many(21, large), 10],
    ['31 large ones', many(31, large), 20],
    ['a large one before 20 small ones: it gives way alone', [large, ...many(20)], 20],
    ['a large one after 30 small ones: it is what the user shows now', [...many(30), large], 10],
  ])('%s', (_, images, count) => {
    expect(shownOf(images)).toBe(count)
  })

  it('is counted with documents, and in bytes', () => {
    const page: Block = {
      type: 'document',
      title: 'Plan',
      source: { type: 'url', url: 'https://example.org/a.pdf' },
    }
    expect(shownIn(rounds([page, ...many(100)]))[1]).toEqual(text('[Not shown any more: document, Plan]'))
    const heavy = imageOf(png(40, 30, 3_700_000))
    const bytes = JSON.stringify(rendered(...rounds(many(8, heavy)))).length
    expect(bytes).toBeGreaterThan(9_000_000)
    expect(bytes).toBeLessThan(32_000_000)
  })

  it('leaves the documents where large images are too many', () => {
    const page: Block = { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } }
    expect(shownIn(rounds([page, ...many(21, large)]))).toContainEqual(page)
  })

  it('changes nothing that was rendered before, but when some give way: once for every ten large ones', () => {
    const events = rounds(many(60, large))
    const requests = events.map((_, at) =>
      JSON.stringify(rendered(...events.slice(0, at + 1)).messages).slice(0, -1),
    )
    const changed = requests.filter(
      (request, at) => at > 0 && !request.startsWith(requests[at - 1]?.slice(0, -2) ?? ''),
    )
    expect(changed).toHaveLength(4)
  })

  it('takes the thinking along that was produced when they were there, and leaves what came after', () => {
    const thought = (index: number, renderer?: number): Event =>
      said('assistant', [thinking(`s${index}`), text('I see.')], {
        ...(renderer && {
          context: { position: 2 * index, digest: '0'.repeat(64), options: { renderer } },
          stopReason: 'end_turn',
        }),
      })
    const events = (renderer?: number): readonly Event[] =>
      many(25, large).flatMap((image, index) => [user([image]), thought(index, renderer)])
    const signatures = (all: readonly Event[]): readonly unknown[] =>
      shownIn(all).flatMap(({ type, signature }) => (type === 'thinking' ? [signature] : []))
    expect(signatures(events(2))).toEqual(['s20', 's21', 's22', 's23', 's24'])
    // Renderer 1 showed all of them, and without a receipt nobody knows.
    expect(signatures(events(1))).toEqual([])
    expect(signatures(events())).toEqual([])
    expect(signatures(events().slice(0, 40))).toHaveLength(20)
  })

  it('is valid at every position', () => {
    const events = rounds([...many(15, large), ...many(30), ...many(12, large), ...many(60)])
    for (const [at] of events.entries())
      expect(violations({ rendered: rendered(...events.slice(0, at + 1)) })).toEqual([])
  })
})
