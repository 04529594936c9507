import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises'
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
      expect(ran.stderr).toContain('give - only once')
      expect(ran).toMatchObject({ stdout: '', code: 2 })
    }))

  const young = '{"type":"permission-mode","permissionMode":"default","sessionId":"young"}\n'

  test('of several files goes on after one that fails, and ends with a summary', () =>
    inDirectory(async (directory) => {
      await sample(directory, 'pi.jsonl')
      await sample(directory, 'claude-code.jsonl')
      await writeFile(join(directory, 'codex.jsonl'), '{"record_type":"state"}\n')
      await writeFile(join(directory, 'young.jsonl'), young)
      await writeFile(join(directory, 'empty.jsonl'), '')
      const files = 'codex.jsonl pi.jsonl gone.jsonl young.jsonl empty.jsonl claude-code.jsonl'
      const ran = await shell(`palimpsest import ${files}`, directory)
      expect(ran.code).toBe(1)
      expect(ran.stderr.trimEnd().split('\n')).toEqual([
        expect.stringMatching(
          /^error: codex\.jsonl: this is a Codex rollout of before September 2025: not supported yet; /,
        ),
        expect.stringMatching(/^error: gone\.jsonl cannot be read \(it does not exist\)/),
      ])
      expect(ran.stdout.trimEnd().split('\n').slice(-3)).toEqual([
        'no messages yet: young.jsonl',
        'no messages yet: empty.jsonl',
        expect.stringMatching(/^6 files: \d+ conversations, \d+ events added; 2 failed; 2 without messages$/),
      ])
      const again = await shell(`palimpsest import --json ${files}`, directory)
      expect(again).toMatchObject({ stderr: '', code: 1 })
      expect(JSON.parse(again.stdout)).toMatchObject({
        imported: [
          { file: 'pi.jsonl', conversations: [{ added: 0 }] },
          { file: 'claude-code.jsonl', conversations: expect.any(Array) },
        ],
        failed: [
          {
            file: 'codex.jsonl',
            _tag: 'UnsupportedFormat',
            found: 'a Codex rollout of before September 2025',
          },
          { file: 'gone.jsonl', _tag: 'FileUnreadable' },
        ],
        withoutMessages: ['young.jsonl', 'empty.jsonl'],
        noSessions: [],
      })
      const good = await shell('palimpsest import pi.jsonl young.jsonl', directory)
      expect(good).toMatchObject({ stderr: '', code: 0 })
      expect(good.stdout).toMatch(
        /^2 files: 1 conversation, 0 events added; 1 unchanged; 1 without messages$/m,
      )
    }))

  test('of a folder reports sums and a few examples, or with --verbose on every file', () =>
    inDirectory(async (directory) => {
      await mkdir(join(directory, 'all'))
      const entry = (sessionId: string): string =>
        `${JSON.stringify({ sessionId, uuid: 'u', parentUuid: null, type: 'user', timestamp: '2026-01-01T10:00:00.000Z', message: { role: 'user', content: 'Hi.' } })}\n`
      for (let n = 0; n < 8; n++) {
        const write = (name: string, text: string): Promise<void> =>
          writeFile(join(directory, `all/${name}${n}.jsonl`), text)
        await write('session', `{"type":"progress","sessionId":"s${n}"}\n${entry(`s${n}`)}torn\n`)
        await write('young', young)
        await write('other', '{"record_type":"state"}\n')
      }
      const [brief, full] = [
        await shell('palimpsest import all --skip-bad-lines', directory),
        await shell('palimpsest import all --skip-bad-lines --verbose --store sqlite:full.db', directory),
      ]
      const lines = brief.stdout.trimEnd().split('\n')
      expect(lines.slice(0, 5)).toEqual(
        [0, 1, 2, 3, 4].map((n) => expect.stringMatching(`^s${n}  1 event added`)),
      )
      expect(lines.slice(5)).toEqual([
        '3 more conversations: --verbose lists all',
        expect.stringMatching(/^ {2}left out: 8 progress \(/),
        ...[0, 1, 2, 3, 4].map((n) => expect.stringMatching(`^  skipped: all/session${n}.jsonl, line 3: `)),
        '  skipped: 3 more lines: --verbose lists them',
        ...[0, 1, 2, 3, 4].map((n) => `no messages yet: all/young${n}.jsonl`),
        'no messages yet: 3 more files, which --verbose lists',
        '24 files: 8 conversations, 8 events added; 8 failed; 8 without messages',
      ])
      expect(brief.stderr.trimEnd().split('\n').slice(5)).toEqual([
        'error: 3 more files failed with UnsupportedFormat: --verbose lists all',
      ])
      expect(
        full.stdout.match(/^s\d {2}1 event added|^ {2}(left out|skipped):|^no messages yet/gm),
      ).toHaveLength(32)
      expect(full.stderr.trimEnd().split('\n')).toHaveLength(8)
      const again = await shell(
        'palimpsest import all --skip-bad-lines --verbose --store sqlite:full.db',
        directory,
      )
      expect(again.stdout.match(/^s\d {2}nothing new|^ {2}(left out|skipped):/gm)).toHaveLength(24)
    }))

  test('of a folder names at its end the conversations that were changed, with the way out', () =>
    inDirectory(async (directory) => {
      const line = (sessionId: string, uuid: string, parentUuid: string | null): string =>
        `${JSON.stringify({ sessionId, uuid, parentUuid, type: 'user', timestamp: '2026-01-01T10:00:00.000Z', message: { role: 'user', content: uuid } })}\n`
      await mkdir(join(directory, 'sessions'))
      const write = (name: string, ...lines: readonly string[]): Promise<void> =>
        writeFile(join(directory, 'sessions', `${name}.jsonl`), lines.join(''))
      await write('a', line('a', 'a0', null))
      await shell('palimpsest import sessions; palimpsest append a --role user --text More.', directory)
      const unchanged = await shell('palimpsest import sessions', directory)
      expect(unchanged).toMatchObject({ stderr: '', code: 0 })

      await write('a', line('a', 'a0', null), line('a', 'a1', 'a0'))
      await write('b', line('b', 'b0', null))
      const ran = await shell('palimpsest import sessions 2>&1', directory)
      expect(ran.code).toBe(1)
      const [added = '', diverged = '', summary, ...rest] = ran.stdout.trimEnd().split('\n')
      expect(added).toMatch(/^b {2}\d+ events? added/)
      expect(diverged).toMatch(
        /a\.jsonl: .*: run palimpsest rewind a --to \d+ \(fork it first to keep the changes\), or import this file alone under another id \(--id NEW\)$/,
      )
      expect(summary).toContain('1 failed')
      expect(rest).toEqual([])

      const [command = ''] = /palimpsest rewind a --to \d+/.exec(diverged) ?? []
      for (const next of [command, 'palimpsest import sessions'])
        expect(await shell(next, directory)).toMatchObject({ stderr: '', code: 0 })
    }))

  test('of a folder takes what is in it, sessions before their subagents', () =>
    inDirectory(async (directory) => {
      await mkdir(join(directory, 'all/s/subagents'), { recursive: true })
      await mkdir(join(directory, 'all/.hidden'))
      await mkdir(join(directory, 'none'))
      await sample(join(directory, 'all'), 'pi.jsonl')
      const entry = (uuid: string, more: object): string =>
        `${JSON.stringify({ uuid, parentUuid: null, sessionId: 's', type: 'user', message: { role: 'user', content: 'Hi' }, ...more })}\n`
      await writeFile(join(directory, 'all/s.jsonl'), entry('a', {}))
      await writeFile(
        join(directory, 'all/s/subagents/agent-1.jsonl'),
        entry('b', { isSidechain: true, agentId: '1' }),
      )
      await writeFile(join(directory, 'all/index.json'), '{"version":1}')
      await writeFile(join(directory, 'all/notes.txt'), 'Buy milk.')
      await writeFile(join(directory, 'all/.hidden/s.jsonl'), entry('c', { sessionId: 'hidden' }))
      const ran = await shell('palimpsest import --json all', directory)
      expect(ran).toMatchObject({ stderr: '', code: 0 })
      expect(JSON.parse(ran.stdout)).toMatchObject({
        imported: [
          { file: join('all', 'pi.jsonl') },
          { file: join('all', 's.jsonl'), conversations: [{ id: 's' }] },
          { file: join('all', 's/subagents/agent-1.jsonl'), conversations: [{ id: 's:1' }] },
        ],
        failed: [],
        noSessions: [join('all', 'index.json')],
      })
      const wrong = await shell(
        'palimpsest start all; palimpsest import none; palimpsest import --id x all',
        directory,
      )
      expect(wrong.stderr).toContain('all is a folder: name one of its files, or import all of them')
      expect(wrong.stderr).toContain('none contains no .json or .jsonl file')
      expect(wrong.stderr).toContain('--id names one conversation')
      expect(wrong.code).toBe(2)
    }))

  test('of what cannot be read says so of each, and takes the rest', () =>
    inDirectory(async (directory) => {
      await mkdir(join(directory, 'none'))
      await sample(directory, 'pi.jsonl')
      await symlink('self', join(directory, 'self'))
      const files = 'none self pi.jsonl/x pi.jsonl pi.jsonl'
      const ran = await shell(`palimpsest import ${files}`, directory)
      expect(ran.code).toBe(1)
      expect(ran.stderr.trimEnd().split('\n')).toEqual([
        'error: none contains no .json or .jsonl file: check the path, or name the files',
        'error: self cannot be read (ELOOP): check the path',
        'error: pi.jsonl/x cannot be read (ENOTDIR): check the path',
      ])
      expect(ran.stdout).toMatch(/^5 files: 1 conversation, \d+ events added; 1 unchanged; 3 failed$/m)
      const one = await shell('palimpsest import none pi.jsonl', directory)
      expect(one.stdout).toMatch(/^2 files: 1 conversation, 0 events added; 1 unchanged; 1 failed$/m)
    }))

  test.skipIf(process.platform === 'win32')('of a folder says which of its folders cannot be read', () =>
    inDirectory(async (directory) => {
      await mkdir(join(directory, 'all'))
      await sample(join(directory, 'all'), 'pi.jsonl')
      // Paths of more than 4,096 bytes cannot be opened, whoever asks.
      const deepen = 'for n in $(seq 25); do mkdir $name; cd $name; done'
      await shell(`cd all; name=$(printf 'd%.0s' $(seq 200)); ${deepen}`, directory)
      const ran = await shell('palimpsest import all', directory)
      await shell('rm -r all', directory)
      expect(ran.code).toBe(1)
      expect(ran.stderr).toMatch(/^error: all\/d+[/d]+ cannot be read \(ENAMETOOLONG\): check the path$/m)
      expect(ran.stdout).toMatch(/^2 files: 1 conversation, \d+ events added; 1 failed$/m)
    }),
  )

  test('of a loop of links imports each file once', () =>
    inDirectory(async (directory) => {
      await mkdir(join(directory, 'all'))
      await sample(join(directory, 'all'), 'pi.jsonl')
      await symlink('..', join(directory, 'all/loop'))
      const ran = await shell('palimpsest import all/loop', directory)
      expect(ran).toMatchObject({ stderr: '', code: 0 })
      expect(ran.stdout).toMatch(/^1 file: 1 conversation, \d+ events added$/m)
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
        'error: notes.txt: not a session in any known format; if it is one, say which with --format (claude-code, codex, copilot, gemini-cli, opencode, pi, roo, openai, responses, gemini, ai-sdk, atif, anthropic or palimpsest)',
        expect.stringMatching(
          /^error: torn\.jsonl, line 2: .*; fix the line, or skip it with --skip-bad-lines$/,
        ),
        'error: palimpsest.db: this is a store: open it with --store',
        expect.stringMatching(/keep fewer messages, or name a slice with --covers$/),
      ])
    }))

  test('of a file that is not there says so', () =>
    inDirectory(async (directory) => {
      const ran = await shell('palimpsest import gone.jsonl', directory)
      expect(ran.stderr).toContain('gone.jsonl cannot be read (it does not exist)')
    }))
})
