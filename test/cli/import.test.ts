import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { inDirectory, shell } from './palimpsest.ts'

const samples = new URL('../../examples/sessions/', import.meta.url)
const sample = (directory: string, name: string): Promise<void> =>
  copyFile(new URL(name, samples), join(directory, name))

describe('import', () => {
  test('reads the standard input where a file is named -', () =>
    inDirectory(async (directory) => {
      await sample(directory, 'pi.jsonl')
      const ran = await shell('palimpsest import --json - < pi.jsonl; palimpsest import pi.jsonl', directory)
      expect(ran.stderr).toBe('')
      const [first = '', second] = ran.stdout.split('\n')
      expect(JSON.parse(first)).toMatchObject({
        imported: [{ file: '-', format: 'pi', conversations: [{}] }],
      })
      expect(second).toContain('nothing new')
    }))

  test('reads the standard input once', () =>
    inDirectory(async (directory) => {
      const ran = await shell('palimpsest import - -', directory)
      expect(ran.stderr).toContain('give - once')
      expect(ran).toMatchObject({ stdout: '', code: 2 })
    }))

  test('of several files says what was done before the one that failed', () =>
    inDirectory(async (directory) => {
      await sample(directory, 'pi.jsonl')
      await writeFile(join(directory, 'codex.jsonl'), '{"type":"session_meta","payload":{}}\n')
      const ran = await shell('palimpsest import --json pi.jsonl codex.jsonl gone.jsonl', directory)
      expect(ran).toMatchObject({ stdout: '', code: 1 })
      expect(JSON.parse(ran.stderr)).toMatchObject({
        error: {
          _tag: 'UnsupportedFormat',
          message: expect.stringMatching(/^codex\.jsonl: this is a Codex rollout: not supported yet; /),
          file: 'codex.jsonl',
          imported: [{ file: 'pi.jsonl', conversations: [{ added: expect.any(Number) }] }],
        },
      })
      const listed = await shell('palimpsest list', directory)
      expect(listed.stdout).not.toBe('')
    }))

  test('of what is no session says what to do in the words of the command line', () =>
    inDirectory(async (directory) => {
      await writeFile(join(directory, 'empty.jsonl'), '')
      await writeFile(join(directory, 'notes.txt'), 'Buy milk.\n')
      await writeFile(join(directory, 'torn.jsonl'), '{"type":"session","id":"x"}\n{"type":\n')
      const { stderr } = await shell(
        [
          'palimpsest append a --role user --text Hi > /dev/null',
          ...['empty.jsonl', 'notes.txt', 'torn.jsonl', 'palimpsest.db'].map(
            (name) => `palimpsest import ${name}`,
          ),
          'palimpsest truncate a',
        ].join('; '),
        directory,
      )
      expect(stderr.trimEnd().split('\n')).toEqual([
        'error: empty.jsonl: the file is empty',
        'error: notes.txt: not a session in any known format; if it is one, say which with --format (claude-code, pi, roo, openai, anthropic or palimpsest)',
        expect.stringMatching(
          /^error: torn\.jsonl, line 2: .*; fix the line, or skip it with --skip-bad-lines$/,
        ),
        'error: palimpsest.db: this is a store: open it with --store',
        expect.stringMatching(/keep fewer messages, or name a slice with --covers$/),
      ])
    }))

  test('of a file that is not there, or a directory, says so', () =>
    inDirectory(async (directory) => {
      const ran = await shell('palimpsest import gone.jsonl; palimpsest import .', directory)
      expect(ran.stderr).toContain('gone.jsonl cannot be read (it does not exist)')
      expect(ran.stderr).toContain('. cannot be read (it is a directory)')
    }))
})
