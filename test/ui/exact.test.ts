import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { blank, chunks, clamp, exact } from '../../src/ui/blocks/exact.ts'

const shown = (text: string): string =>
  exact(text)
    .map((piece) => (typeof piece === 'string' ? piece : `[${piece.name}]`))
    .join('')

describe('exact text', () => {
  test('names what cannot be seen', () => {
    expect(shown('exe.\u202Egnp.exe')).toBe('exe.[RLO]gnp.exe')
    expect(shown('a\u200Bb\uFEFF\u0000\u001B[31m\u2066')).toBe('a[ZWSP]b[BOM][NUL][ESC][31m[LRI]')
    expect(shown('a\u{E0041}b\u00AD\r')).toBe('a[U+E0041]b[U+00AD][CR]')
    expect(shown('a\u3164b\u115F\u034F')).toBe('a[U+3164]b[U+115F][U+034F]')
    // Variation selectors can hide a text after any character.
    expect(shown('😀\uFE0F\uFE00\u{E0148}a\uFE0F')).toBe('😀\uFE0F[U+FE00][U+E0148]a[U+FE0F]')
  })

  test('leaves what belongs to the text', () => {
    for (const text of [
      'a\tb\r\nc\n',
      '👩\u200D💻 works',
      'می\u200Cخواهم',
      'naïve — “quoted”',
      '日本語',
      '1\uFE0F\u20E3 ❤\uFE0F',
      '葛\u{E0100}',
    ])
      expect(shown(text)).toBe(text)
    expect(shown('a\u200Db')).toBe('a[ZWJ]b')
  })

  test('loses nothing else', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const kept = exact(text).filter((piece) => typeof piece === 'string')
        const unseen = /[^\p{L}\p{N}\p{P}\p{S}]|\p{Default_Ignorable_Code_Point}/gu
        expect(text.replaceAll(unseen, '')).toBe(kept.join('').replaceAll(unseen, ''))
      }),
    )
  })

  test('of nothing says so', () => {
    expect(['', ' ', '\n\n', ' x '].map(blank)).toEqual([
      'empty',
      '1 blank character',
      '2 blank characters',
      undefined,
    ])
  })
})

describe('long text', () => {
  test('is cut only where that saves something, and never inside of a character', () => {
    expect(clamp('x'.repeat(800))).toBeUndefined()
    expect(clamp('x'.repeat(801))).toHaveLength(700)
    expect(clamp(`${'x'.repeat(699)}😀${'x'.repeat(200)}`)).toBe('x'.repeat(699))
  })

  test('is laid out in pieces of at most 16 kB or 500 lines, which together are the text', () => {
    const texts = fc
      .array(fc.tuple(fc.constantFrom('x', 'a\n', '😀', '\n'), fc.integer({ min: 1, max: 20_000 })), {
        maxLength: 4,
      })
      .map((parts) => parts.map(([part, times]) => part.repeat(times)).join(''))
    fc.assert(
      fc.property(texts, (text) => {
        const pieces = chunks(text)
        expect(pieces.join('')).toBe(text)
        for (const piece of pieces) {
          expect(piece.length).toBeLessThanOrEqual(16 * 1024)
          expect(piece.split('\n').length).toBeLessThanOrEqual(501)
          expect(piece).not.toMatch(/^[\uDC00-\uDFFF]/)
        }
      }),
    )
    expect(chunks('')).toEqual([])
    expect(chunks('a\n'.repeat(1_200)).map((piece) => piece.length)).toEqual([1_000, 1_000, 400])
  })
})
