import * as fc from 'fast-check'
import type { ComponentChildren, VNode } from 'preact'
import { describe, expect, test } from 'vitest'
import { editLines, editsIn, isPatch, patchLines } from '../../src/ui/blocks/edits.ts'
import { highlight } from '../../src/ui/blocks/highlight.ts'
import { cutWhole, renderMarkdown } from '../../src/ui/blocks/markdown.ts'
import { gistOf, wrappedParts } from '../../src/ui/blocks/wrappers.ts'

const printed = (lines: ReturnType<typeof editLines>): readonly string[] =>
  lines.map(({ kind, text }) => `${{ same: ' ', added: '+', removed: '-', heading: '@' }[kind]}${text}`)

/** Stands for the component that shows code. */
const Code = ({ text }: { readonly text: string }): string => text

/** All text that elements contain. */
const textIn = (children: ComponentChildren): string => {
  if (Array.isArray(children)) return children.map(textIn).join('')
  if (typeof children !== 'object' || children === null) return String(children ?? '')
  const { props } = children as Partial<VNode<{ readonly text?: string }>>
  return (props?.text ?? '') + textIn(props?.children)
}

describe('an edit of a file', () => {
  test('is found under the names that programs use', () => {
    const edits = [{ before: 'a', after: 'b' }]
    for (const [before, after] of [
      ['old_string', 'new_string'],
      ['old_str', 'new_str'],
      ['oldText', 'newText'],
      ['old', 'new'],
    ] as const) {
      expect(editsIn({ path: 'x', [before]: 'a', [after]: 'b' }, 'edit')).toEqual({
        fields: [before, after],
        edits,
      })
      expect(editsIn({ path: 'x', edits: [{ [before]: 'a', [after]: 'b' }] }, 'edit')).toMatchObject({
        edits,
      })
    }
    expect(editsIn({ file_path: 'x', content: 'b' }, 'Write')?.edits).toEqual([{ before: '', after: 'b' }])
    expect(editsIn({ input: '*** Begin Patch\n*** End Patch' }, 'apply_patch')?.fields).toEqual(['input'])
    for (const other of [
      { content: 'b' },
      { path: 'x' },
      { edits: [] },
      { edits: [{}] },
      { old: 1, new: 'b' },
    ])
      expect(editsIn(other, 'Write')).toBeUndefined()
  })

  test('shows what was removed, added and kept', () => {
    expect(printed(editLines({ before: 'a\nb\nc\n', after: 'a\nB\nc\nd\n' }))).toEqual([
      ' a',
      '-b',
      '+B',
      ' c',
      '+d',
    ])
    expect(printed(editLines({ before: '', after: 'a\n\nb' }))).toEqual(['+a', '+', '+b'])
  })

  test('has the lines of both texts, in order', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
      .map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = editLines({ before, after })
        const without = (kind: string): string =>
          lines.flatMap((line) => (line.kind === kind ? [] : [line.text])).join('\n')
        expect(without('added')).toBe(before.replace(/\n$/, ''))
        expect(without('removed')).toBe(after.replace(/\n$/, ''))
      }),
    )
  })

  test('of very many lines is not compared line by line', () => {
    const before = Array.from({ length: 5_000 }, (_, index) => `a${index}`).join('\n')
    const lines = editLines({ before, after: before.replaceAll('a', 'b') })
    expect(lines.map(({ kind }) => kind)).toEqual([
      ...Array(5_000).fill('removed'),
      ...Array(5_000).fill('added'),
    ])
  })

  test('is read from a diff, also where lines look like its headings', () => {
    const diff = 'diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n--- b\n+++ c\n'
    expect(isPatch(diff)).toBe(true)
    expect(printed(patchLines(diff))).toEqual([
      '@diff --git a/x b/x',
      '@--- a/x',
      '@+++ b/x',
      '@@@ -1,2 +1,2 @@',
      ' a',
      '--- b',
      '+++ c',
    ])
    expect(isPatch('--- a heading\n\nand text')).toBe(false)
    const patch = '*** Begin Patch\n*** Update File: x\n@@\n a\n-b\n+c\n*** End Patch'
    expect(printed(patchLines(patch))).toEqual(['@*** Update File: x', '@@@', ' a', '-b', '+c'])
  })
})

describe('what a program has put between tags', () => {
  test('is told apart from the text around it', () => {
    const text = 'Do it.\n<system-reminder>\nBe brief.\n</system-reminder>\nThen <some-tag>this</some-tag>.'
    expect(wrappedParts(text)).toEqual([
      'Do it.',
      { tag: 'system-reminder', text: 'Be brief.', isCut: false },
      'Then <some-tag>this</some-tag>.',
    ])
    expect(
      wrappedParts('<command-message>x</command-message>\n<command-name>/x</command-name>').map((part) =>
        typeof part === 'string' ? part : gistOf(part),
      ),
    ).toEqual(['x', '/x'])
  })

  test('is text if it is code, has one word, or does not end', () => {
    for (const text of [
      '```\n<system-reminder>\nx\n</system-reminder>\n```',
      '<script>alert(1)</script>',
      '<system-reminder>',
      '',
    ])
      expect(wrappedParts(text)).toEqual([text])
    expect(wrappedParts('<system-reminder>\nBe', true)).toEqual([
      { tag: 'system-reminder', text: 'Be', isCut: true },
    ])
  })

  test('is summed up in its own words', () => {
    const text = '<task-id>1</task-id>\n<status>completed</status>\n<summary>Tests passed</summary>'
    expect(gistOf({ tag: 'task-notification', text, isCut: false })).toBe('Tests passed')
  })

  test('takes no longer with very many tags', () => {
    expect(wrappedParts('<a-b>\n'.repeat(100_000)).length).toBe(1)
  })
})

describe('the beginning of Markdown', () => {
  const long = 'word '.repeat(60).trim()

  test('ends where a block ends, without the heading of the next', () => {
    expect(cutWhole(`${long}\n\n${long}\n\n## Next\n\n${long.slice(0, 50)}`).trim()).toBe(
      `${long}\n\n${long}`,
    )
    const table = '| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4'
    expect(cutWhole(`${long}\n\n${table}`).trim()).toBe(long)
  })

  test('ends at the end of a word or line, if it is a single block', () => {
    expect(cutWhole(`${long} unfini`)).toBe(`${long} …`)
    expect(cutWhole(`\`\`\`js\n${'let a = 1\n'.repeat(20)}let unfini`)).toBe(
      `\`\`\`js\n${'let a = 1\n'.repeat(20)}`,
    )
    expect(cutWhole('| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4')).toBe('| a | b |\n|---|---|\n| 1 | 2 |\n')
    expect(cutWhole('x'.repeat(700))).toBe('x'.repeat(700))
  })

  test('shows every word of any text', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...Array.from('ab1 \n\n#>-*_`|[]()<&;:!')), { maxLength: 60 }),
        (letters) => {
          const text = letters.join('')
          const words = (shown: string): string => shown.replaceAll(/[^a-b]/g, '')
          // Addresses of links and languages of code are not text.
          fc.pre(!/\]\s*[([:]|[`]{3}|~~~/.test(text))
          expect(words(textIn(renderMarkdown(text, false, Code)))).toBe(words(text))
        },
      ),
    )
  })

  test('survives what is nested very deep', () => {
    expect(textIn(renderMarkdown(`${'>'.repeat(20_000)} a`, false, Code))).toContain('a')
    expect(textIn(renderMarkdown(`${'['.repeat(2_000)}a`, false, Code))).toContain('a')
  })
})

describe('highlighted code', () => {
  test('is the same text in any language', () => {
    const code = 'const a = "<b>&amp;</b>" // it\'s\n@@ -1 +1 @@\n-a\n+b\n<script>alert(1)</script>'
    for (const language of [
      'js',
      'ts',
      'tsx',
      'py',
      'sh',
      'rs',
      'go',
      'ex',
      'html',
      'yml',
      'toml',
      'diff',
      'constructor',
      '',
    ])
      expect(textIn(highlight(code, language))).toBe(code)
  })
})
