import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { timeBefore } from '../../src/cli/durations.ts'
import { openStore } from '../../src/index.ts'
import { run } from '../../src/cli/run.ts'
import { inDirectory, type Ran, shell } from './palimpsest.ts'

const begin = `palimpsest append task-42 --role user --text 'My card is 4111-2222.' > /dev/null
palimpsest append task-42 --role assistant --text 'Noted: 4111 2222.' > /dev/null`

const ran = (command: string): Promise<Ran> =>
  inDirectory((directory) => shell(`${begin}\n${command}`, directory))

describe('palimpsest erase', () => {
  test('says what it would erase and what repeats it, erases, and verify counts it', async () => {
    const { stdout, code } = await ran(
      `palimpsest erase task-42 --positions 0 --dry-run
palimpsest erase task-42 --positions 0 --by ann --reason 'request 17'
palimpsest log task-42; palimpsest verify task-42; palimpsest erase task-42; palimpsest erase task-42
grep -c 4111 palimpsest.db || true`,
    )
    expect(stdout.split('\n').map((line) => line.trim())).toEqual([
      'would erase from task-42: 1 event (0)',
      'position 1 repeats words of position 0: 4… (8 characters)',
      'erased from task-42: 1 event (0)',
      'position 1 repeats words of position 0: 4… (8 characters)',
      '0  ●  user       [erased]',
      '1  ●  assistant  Noted: 4111 2222.',
      '2  ⌫  erased     events 0 by ann: request 17',
      'ok       task-42  3 events unchanged; erased: 1 event',
      'erased from task-42: 1 event (1)',
      'erased from task-42: nothing is left to erase',
      '0',
      '',
    ])
    expect(code).toBe(0)
  })

  test('lists repeated words once, with all places that repeat them, and of many texts the first', () =>
    inDirectory(async (directory) => {
      const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
      const words = 'abcdefghijklmnopqrstuvwxy'.split('').map((letter) => `${letter}1bbbbb2`)
      await store
        .conversation('c')
        .append(
          [words.join(', '), ...words, words[0] ?? ''].map((content) => ({ role: 'user' as const, content })),
        )
      await store.close()
      const { stdout } = await shell('palimpsest erase c --positions 0 --dry-run', directory)
      const lines = stdout.trimEnd().split('\n')
      expect(lines.slice(0, 3)).toEqual([
        'would erase from c: 1 event (0)',
        'positions 1, 26 repeat words of position 0: a… (8 characters)',
        'position 2 repeats words of position 0: b… (8 characters)',
      ])
      expect(lines).toHaveLength(1 + 20 + 1)
      expect(lines.at(-1)).toBe('5 more texts are repeated: --json lists all')
    }))

  test('asks on a terminal before it erases a whole conversation, unless it has --yes', () =>
    inDirectory(async (directory) => {
      await shell(begin, directory)
      const store = `sqlite:${join(directory, 'palimpsest.db')}`
      let expected = 0
      const answered = async (answer: string, ...options: readonly string[]): Promise<string> => {
        const stdin = Object.assign(Readable.from([answer]), { isTTY: true })
        const [stdout, stderr] = [new PassThrough(), new PassThrough()]
        const code = await run(['erase', 'task-42', '--store', store, ...options], {
          stdin,
          stdout,
          stderr,
          env: {},
        })
        const said = [stderr, stdout].map((stream) => String(stream.read() ?? '')).join('')
        expect(code).toBe(expected)
        return said
      }
      for (const answer of ['n\n', '\n', ''])
        expect(await answered(answer)).toMatch(
          /whole conversation task-42 for good\?.* \[y\/N\] nothing was erased\n$/,
        )
      expect(await answered('', '--positions', '0')).toContain('erased from task-42: 1 event (0)')
      expect(await answered('', '--dry-run')).toContain('would erase from task-42: 1 event (1)')
      await shell('palimpsest hold task-42 --by legal', directory)
      expected = 1
      expect(await answered('')).toMatch(/^error: nothing of conversation task-42 was erased: it is under/)
      expected = 0
      await shell('palimpsest release task-42 --by legal', directory)
      expect(await answered('y\n')).toMatch(/\[y\/N\] erased from task-42: 1 event \(1\)\n$/)
      expect(await answered('', '--yes')).toBe('erased from task-42: nothing is left to erase\n')
    }))

  test('names the exports that have it, as JSON, too', async () => {
    const { stdout } = await ran(
      `palimpsest audit init > /dev/null; palimpsest audit export task-42 --out bundle --reason 'for the court' > /dev/null
palimpsest erase task-42 --positions 0 --dry-run; palimpsest erase task-42 --positions 0 --json`,
    )
    const [, , exported = '', ...json] = stdout.split('\n')
    expect(exported).toMatch(/^exported 20.*Z by .*for the court.*: that copy is not erased$/)
    expect(JSON.parse(json.join('\n'))).toMatchObject({
      positions: [0],
      exports: [{ reason: 'for the court', conversations: ['task-42'] }],
    })
  })

  test('refuses under a legal hold, until it is released', async () => {
    const { stdout, stderr, code } = await ran(
      `palimpsest release task-42; palimpsest hold task-42 --by legal --reason 'case 7'; palimpsest erase task-42
palimpsest release task-42 --by legal; palimpsest erase task-42`,
    )
    expect(stdout).toBe(
      'task-42 was not held: nothing was written\ntask-42 is held\ntask-42 is released\nerased from task-42: 2 events (0..1)\n',
    )
    expect(stderr).toMatch(
      /nothing of conversation task-42 was erased: it is under the legal hold of legal since .* \(case 7\)/,
    )
    expect(code).toBe(0)
  })

  test('lists the legal holds that last, each name on a line', async () => {
    const { stdout, code } = await ran(
      `palimpsest hold; palimpsest append b --role user --text Hi --new; palimpsest hold task-42 --by legal --reason 'case 7' > /dev/null; palimpsest hold task-42 --by tax > /dev/null; palimpsest hold b --by tax > /dev/null; palimpsest release b --by tax > /dev/null; palimpsest hold; palimpsest hold --json`,
    )
    expect(stdout).toMatch(/^.*\ntask-42\tlegal\t\S+Z\tcase 7\ntask-42\ttax\t\S+Z\t\n\{/)
    expect(JSON.parse(stdout.slice(stdout.indexOf('{')))).toEqual({
      holds: [
        {
          conversation: 'task-42',
          by: 'legal',
          reason: 'case 7',
          since: expect.any(String),
          others: [{ by: 'tax', since: expect.any(String) }],
        },
      ],
    })
    expect(code).toBe(0)
    expect(await ran('palimpsest hold --by tax')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('need the ID of a conversation'),
    })
  })

  test('names the subagents that a hold covers, and those that are not erased', async () => {
    const { stdout, stderr } = await ran(
      `palimpsest append sub --role user --text 'My card is 4111-2222.' --new > /dev/null
palimpsest link sub --relation subagent-of --to task-42 > /dev/null
palimpsest erase task-42 --dry-run
palimpsest hold task-42 --by legal; palimpsest hold task-42 --by legal --json; palimpsest hold; palimpsest hold --json
palimpsest erase sub || palimpsest release sub --by legal || palimpsest release task-42 --by legal
palimpsest erase task-42 --with-subagents --positions 0 || palimpsest erase task-42 --with-subagents; palimpsest erase task-42`,
    )
    const time = expect.any(String)
    const [dry, not, held, json, own, covered, all, ...rest] = stdout.trimEnd().split('\n')
    expect([dry, not, held]).toEqual([
      'would erase from task-42: 2 events (0..1)',
      'not erased: the conversations of 1 subagent (--with-subagents): sub',
      'task-42 is held, with 1 subagent: sub',
    ])
    expect(JSON.parse(json ?? '')).toEqual({ conversation: 'task-42', by: 'legal', covers: ['sub'] })
    expect(own?.split('\t')).toEqual(['task-42', 'legal', time, ''])
    expect(covered?.split('\t')).toEqual(['sub', 'legal', time, '', 'task-42'])
    expect(JSON.parse(all ?? '')).toEqual({
      holds: [{ conversation: 'task-42', by: 'legal', since: time, covers: ['sub'] }],
    })
    expect(rest).toEqual([
      'task-42 is released',
      'erased from task-42: 2 events (0..1)',
      'erased from sub: 1 event (0)',
      'erased from task-42: nothing is left to erase',
    ])
    expect(stderr).toMatch(
      /sub was erased: it is a subagent of task-42, which is under .*: release task-42 first/,
    )
    expect(stderr).toMatch(
      /sub is not held itself, but as a subagent .*: palimpsest release task-42 --by legal/,
    )
  })

  test('is refused until everybody who holds the conversation has released it', async () => {
    const { stdout, stderr } = await ran(
      `palimpsest hold task-42 --by legal; palimpsest hold task-42 --by tax; palimpsest release task-42 --by ann || echo "code $?"
palimpsest release task-42 --by tax; palimpsest release task-42 --by legal`,
    )
    expect(stdout).toMatch(
      /is held\n.* is held\ncode 1\ntask-42 is released by tax, and still held by legal since .*Z\ntask-42 is released\n$/,
    )
    expect(stderr).toMatch(
      /nothing was released: .*legal hold of legal .*, not of ann: palimpsest release task-42 --by legal/,
    )
  })

  test('takes only durations and positions', async () => {
    for (const [options, message] of [
      ['--older-than 5', 'must be a duration'],
      ['--positions x', 'must be positions'],
      ['--positions 7', 'position 7'],
    ]) {
      const { stderr, code } = await ran(`palimpsest erase task-42 ${options}`)
      expect(stderr).toContain(message)
      expect(code).not.toBe(0)
    }
  })
})

test.each([
  ['36h', '2026-03-29T19:00:00.000Z'],
  ['2w', '2026-03-17T07:00:00.000Z'],
  ['1mo', '2026-02-28T07:00:00.000Z'],
  ['12mo', '2025-03-31T07:00:00.000Z'],
  ['25mo', '2024-02-29T07:00:00.000Z'],
  ['1y', '2025-03-31T07:00:00.000Z'],
  ['90s', '2026-03-31T06:58:30.000Z'],
  ['5', undefined],
  ['1m', undefined],
])('%s before 31 March is %s', (duration, time) => {
  expect(timeBefore(duration, new Date('2026-03-31T07:00:00.000Z'))?.toISOString()).toBe(time)
})
