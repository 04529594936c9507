import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStore, registerFormat, type SessionFormat, type Store } from 'palimpsest'
import * as fp from 'palimpsest/fp'
import { describe, expect, test } from 'vitest'
import { inDirectory, shell } from '../../cli/palimpsest.ts'
import { left } from '../../support/either.ts'

/** A heading, then a line for each message; `§` marks the conversation's end, `?` a line that nobody can read. */
const letters: SessionFormat = {
  name: 'letters',
  recognises: (line) => line === 'LETTERS',
  parse: (text, notes) =>
    text.split('§').map((part, index) => ({
      id: `box ${index}`,
      actions: part.split('\n').flatMap((content, line) => {
        if (content === 'LETTERS' || content === '') return []
        if (content === '?') {
          notes.bad(line + 1, 'it is illegible')
          return []
        }
        notes.mapped('letter')
        const role = line % 2 === 1 ? ('user' as const) : ('assistant' as const)
        return [{ type: 'message' as const, ref: `line-${line}`, message: { role, content } }]
      }),
    })),
  write: (log, conversation) => [`LETTERS of ${conversation}\n`, ...log.map(({ type }) => `${type}\n`)],
}
registerFormat(letters)

const imported = async (text: string, options: object = {}): Promise<[Store, fp.ImportResult]> => {
  const store = await openStore('memory:')
  return [store, await store.importSession({ text, file: 'f.txt', ...options })]
}

describe('a format of one’s own', () => {
  test('is recognised by its lines, parsed, and reported', async () => {
    const [store, { format, conversations, report }] = await imported('\nLETTERS\nDear Ada,\nDear Charles,\n')
    expect(format).toBe('letters')
    expect(conversations).toMatchObject([{ added: 2 }])
    expect(report.mapped).toEqual([{ kind: 'letter', count: 2 }])
    const chat = store.conversation(conversations[0]?.id ?? '')
    expect((await chat.effective()).map((item) => item.kind === 'message' && item.role)).toEqual([
      'assistant',
      'user',
    ])
    for await (const { metadata } of chat.events())
      expect(metadata.actor).toEqual({ kind: 'import', id: 'letters' })
    await store.close()
  })

  test('adds only what is new when its file has grown', async () => {
    const [store] = await imported('LETTERS\nDear Ada,', { id: 'a' })
    const again = await store.importSession({ text: 'LETTERS\nDear Ada,\nDear Charles,', file: 'f', id: 'a' })
    expect(again.conversations).toEqual([{ id: 'a', added: 1, events: 2 }])
    await store.close()
  })

  test('may hold several conversations, and bad lines', async () => {
    const text = 'LETTERS\nDear Ada,§LETTERS\n?\nDear Mary,'
    await expect(imported(text)).rejects.toMatchObject({ _tag: 'BadLine', problem: 'it is illegible' })
    const [store, { conversations }] = await imported(text, { skipBadLines: true })
    expect(conversations.map(({ added }) => added)).toEqual([1, 1])
    await store.close()
  })

  test('is asked for by name, also of a large file, and is not asked where another is named', async () => {
    const large = `[${'x'.repeat(2_000_000)}\nDear Ada,`
    const [store, { format }] = await imported(large, { format: 'letters' })
    expect(format).toBe('letters')
    await store.close()
    await expect(imported('LETTERS\nDear Ada,', { format: 'pi' })).rejects.toMatchObject({ _tag: 'BadLine' })
    await expect(imported('x', { format: 'none' })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'format',
    })
  })

  test.each<[string, unknown]>([
    ['format', undefined],
    ['name', { ...letters, name: 'Letters' }],
    ['name', { ...letters, name: undefined }],
    ['recognises', { ...letters, name: 'other', recognises: /x/ }],
    ['parse', { ...letters, name: 'other', parse: undefined }],
    ['write', { ...letters, name: 'other', write: 'x' }],
  ])('without what it needs is InvalidInput, which names %s', (path, format) => {
    expect(left(fp.registerFormat(format as SessionFormat))).toMatchObject({ _tag: 'InvalidInput', path })
  })

  test('whose conversations have no actions is InvalidInput', async () => {
    const older = { name: 'older', recognises: () => false, parse: () => [{ id: 'a', steps: [] }] }
    registerFormat(older as unknown as SessionFormat)
    await expect(imported('x', { format: 'older' })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      message: expect.stringContaining('must return conversations as { id, actions }, but older does not'),
    })
  })

  test.each(['letters', 'pi', 'palimpsest', 'markdown'])('cannot take the name %s of another', (name) => {
    registerFormat(letters)
    expect(() => registerFormat({ ...letters, name })).toThrow(
      expect.objectContaining({ _tag: 'FormatTaken', format: name }),
    )
  })

  test('is imported and exported on the command line', async () => {
    await inDirectory(async (folder) => {
      writeFileSync(join(folder, 'box.txt'), 'LETTERS\nDear Ada,')
      const run = await shell(
        'palimpsest import box.txt --format letters --id a; palimpsest export a --format letters',
        folder,
      )
      expect(run).toEqual({
        stdout: 'a  1 event added  from box.txt (letters)\nLETTERS of a\nMessageAppended\n',
        stderr: '',
        code: 0,
      })
      const { stdout } = await shell('palimpsest export a --format letters --json', folder)
      expect(JSON.parse(stdout)).toEqual({ conversation: 'a', text: 'LETTERS of a\nMessageAppended\n' })
      const wrong = await shell(
        'palimpsest import box.txt --format leters; palimpsest export a --format roo',
        folder,
      )
      expect(wrong.stderr).toMatch(
        /--format must be one of .*letters, older\n\(Did you mean letters\?\)\n.*--format must be one of .*opencode, letters\n/,
      )
      expect(wrong.code).toBe(2)
    })
  })
})
