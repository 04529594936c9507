import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { outputOn } from '../../src/cli/output.ts'
import { writeTable } from '../../src/cli/views/table.ts'
import { visible, visibleDocument, visibleJson, visibleLines } from '../../src/transfer/formats/visible.ts'
import { cutToWidth, rangesText, widthOf } from '../../src/cli/text.ts'

const forbidden =
  // oxlint-disable-next-line no-control-regex -- these characters are what it is about
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\u{e0001}]/u

describe('text on a terminal', () => {
  test('every control and bidirectional character is shown', () => {
    const codes = [
      0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067,
    ]
    codes.push(0x2068, 0x2069, 0x7f, 0x80, 0x9b, 0x9f, 0x180e, 0xfeff, 0xfff9, 0xe0001, 0xe0041)
    for (let code = 0; code < 0x20; code++) codes.push(code)
    for (const code of codes) {
      const character = String.fromCodePoint(code)
      expect(visible(`a${character}b`)).not.toContain(character)
      expect(visibleJson(`"${character === '\n' ? '' : character}"`)).toMatch(/^"[ -~]*"$/)
    }
  })

  test('what joins or parts letters and emoji stays, as words and pictures are broken without it', () => {
    for (const joined of ['می\u200cخواهم', 'क्\u200dष', '👩\u200d👩\u200d👧']) {
      expect(visible(joined)).toBe(joined)
      expect(visibleLines(joined)).toBe(joined)
      expect(visibleDocument(joined)).toBe(joined)
      expect(visibleJson(joined)).toBe(joined)
    }
    expect(visible('a\u200bb\u200e\u200f\u2060')).toBe('a\\u{200b}b\\u{200e}\\u{200f}\\u{2060}')
  })

  test('a document keeps its lines and tabs', () => {
    expect(visibleDocument('a\r\n\tb\rc\u001b[2J\n')).toBe('a\n\tb␍c␛[2J\n')
  })

  test('control characters are shown, not obeyed', () => {
    expect(visible('a\u001b[2J\u0007b\rc\u007f')).toBe('a␛[2J␇b␍c␡')
    expect(visible('a\u009b31m')).toBe('a\\u{9b}31m')
    expect(visible('abc\u202edef')).toBe('abc\\u{202e}def')
    expect(visible('half \ud800 a character')).toBe('half \ufffd a character')
  })

  test('nothing that moves a cursor is left of any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (given) => {
        expect(visible(given)).not.toMatch(forbidden)
        expect(visibleLines(given).replaceAll('\n', '')).not.toMatch(forbidden)
        expect(visibleDocument(given).replaceAll(/[\n\t]/g, '')).not.toMatch(forbidden)
        expect(visibleJson(JSON.stringify(given))).not.toMatch(forbidden)
      }),
    )
  })

  test('JSON without raw control characters is the same value', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(JSON.parse(visibleJson(json))).toEqual(JSON.parse(json))
      }),
    )
    expect(visibleJson(JSON.stringify('\u009b31m'))).toBe('"\\u009b31m"')
  })

  test('wide characters take two columns, combining marks none', () => {
    expect(widthOf('parser')).toBe(6)
    expect(widthOf('解析器')).toBe(6)
    expect(widthOf('👩\u200d👩\u200d👧')).toBe(2)
    expect(widthOf('cafe\u0301')).toBe(4)
    expect(widthOf('👩‍👩‍👧')).toBe(2)
  })

  test('a cut text takes no more columns than it may', () => {
    expect(cutToWidth('parser', 6)).toBe('parser')
    expect(cutToWidth('parsers', 6)).toBe('parse…')
    expect(cutToWidth('解析器解析器', 6)).toBe('解析…')
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(60), (given, columns) => {
        expect(widthOf(cutToWidth(given, columns))).toBeLessThanOrEqual(columns)
      }),
    )
  })

  test('positions that follow one another are a range', () => {
    expect(rangesText([0, 1, 2, 5, 7, 8])).toBe('0..2, 5, 7..8')
  })
})

describe('output', () => {
  const written = async (properties: { readonly isTTY?: boolean; readonly columns?: number }) => {
    const stream = Object.assign(new PassThrough(), properties)
    const out = outputOn(stream)
    await out.aside(['a heading'])
    await out.parts([['x'.repeat(50), 'marker'], ['y'.repeat(50)]])
    await out.json({ a: 1 })
    stream.end()
    return text(stream)
  }

  test('on a terminal content is cut to its width, and there are headings', async () => {
    const lines = (await written({ isTTY: true, columns: 60 })).split('\n')
    expect(lines[0]).toContain('a heading')
    // oxlint-disable-next-line no-control-regex -- colours
    expect(lines[1]?.replaceAll(/\u001b\[\d+m/g, '')).toBe(`${'x'.repeat(50)}${'y'.repeat(9)}…`)
    expect(lines.slice(2).join('')).toBe('{  "a": 1}')
  })

  const terminal = (columns: number) => Object.assign(new PassThrough(), { isTTY: true, columns })
  // oxlint-disable-next-line no-control-regex -- colours
  const plain = (painted: string): string => painted.replaceAll(/\u001b\[\d+m/g, '')

  test('what one copies is whole, however narrow the terminal; its width is what COLUMNS says', async () => {
    const id = 'i'.repeat(70)
    const linesAt = async (columns: number, env = {}): Promise<readonly string[]> => {
      const stream = terminal(columns)
      const out = outputOn(stream, false, env)
      await out.line(['the token is ', 'dim'], [id])
      await out.parts([
        ['call  '],
        [`${id}  `, 'bold', 'whole'],
        ['what it says '.repeat(9)],
        [id, 'dim', 'whole'],
      ])
      await out.parts([['what it says '.repeat(9)]])
      stream.end()
      return plain(await text(stream)).split('\n')
    }
    for (const columns of [40, 60, 1_000]) {
      const [token, call = ''] = await linesAt(columns)
      expect(token).toBe(`the token is ${id}`)
      expect(call.split(id)).toHaveLength(3)
      expect(call.startsWith('call')).toBe(columns === 1_000)
    }
    const cutAt = async (columns: number, env = {}): Promise<number> =>
      (await linesAt(columns, env))[2]?.length ?? 0
    expect(await cutAt(60)).toBeLessThanOrEqual(60)
    expect(await cutAt(60, { COLUMNS: '50' })).toBeLessThanOrEqual(50)
    expect(await cutAt(60, { COLUMNS: '200' })).toBe('what it says '.repeat(9).length - 1)
    // A terminal of which nobody knows the width.
    expect(await cutAt(0)).toBe('what it says '.repeat(9).length - 1)
    for (const COLUMNS of ['', '0', '-5', 'wide'])
      expect(await cutAt(60, { COLUMNS })).toBeLessThanOrEqual(60)
  })

  test('of a table only a last column of prose is cut', async () => {
    const table = async (prose?: 'last is prose'): Promise<string | undefined> => {
      const stream = terminal(40)
      const row = ['a'.repeat(25), '12', 'leaves a string open']
      await writeTable(outputOn(stream), ['name', 'calls', 'title'], [row], [1], prose)
      stream.end()
      return plain(await text(stream)).split('\n')[1]
    }
    expect(await table('last is prose')).toBe(`${'a'.repeat(25)}    12 leaves…`)
    expect(await table()).toBe(`${'a'.repeat(25)}    12 leaves a string open`)
  })

  test('of a table of numbers that would not fit the columns come closer to each other', async () => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 40 })
    const headings = ['policy', 'tokens', 'read', 'usd', 'over']
    const row = ['recorded', '57655680', '55938521', '43.3943', '483']
    await writeTable(outputOn(stream), headings, [row], [1, 2, 3, 4])
    stream.end()
    expect((await text(stream)).split('\n')[1]).toBe('recorded 57655680 55938521 43.3943  483')
  })

  test('in a pipe lines are whole and plain', async () => {
    expect(await written({})).toBe(`${'x'.repeat(50)}${'y'.repeat(50)}\n{"a":1}\n`)
  })
})
