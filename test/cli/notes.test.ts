import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { run } from '../../src/cli/run.ts'
import { inDirectory, type Ran, shell } from './palimpsest.ts'

const begin = `palimpsest append c --role user --text a > /dev/null
palimpsest append c --role assistant --text b > /dev/null`
const after = (command: string): Promise<Ran> =>
  inDirectory(async (directory) => {
    for (const line of [...begin.split('\n'), ...command.split('\n').slice(0, -1)])
      expect(await shell(line.trim(), directory)).toMatchObject({ stderr: '', code: 0 })
    return shell(command.split('\n').at(-1)?.trim() ?? '', directory)
  })
const json = async (command: string): Promise<unknown> => JSON.parse((await after(command)).stdout)

describe('note and link', () => {
  test('print what was noted', async () => {
    expect((await after('palimpsest note c --kind title --text "Two letters"')).stdout).toBe(
      '    1  note       title  Two letters\n',
    )
    expect(
      (
        await after(
          'palimpsest link c --relation subagent-of --to p --position 3 --call toolu_1 --ref "a file"',
        )
      ).stdout,
    ).toBe('    1  link       subagent-of p  at 3, call toolu_1, ref a file\n')
    expect(await json(`palimpsest note c --kind my/metric --data '{"n":1}' --json`)).toMatchObject({
      conversation: 'c',
      kind: 'my/metric',
      data: { n: 1 },
      at: 1,
      metadata: { actor: { kind: 'user' } },
    })
  })

  test('are verified with their conversation', async () => {
    const noted = `palimpsest note c --kind my/x > /dev/null\n`
    expect((await after(`${noted}palimpsest verify c`)).stdout).toContain('2 events, 1 note unchanged')
  })

  test('are refused with a code that says whose fault it is', async () => {
    for (const [command, code] of [
      ['palimpsest note d --kind title --text x', 1],
      ['palimpsest note c --kind titel --text x', 1],
      ['palimpsest note c --kind my/x --data {', 2],
      ['palimpsest note c --kind my/x --data 1 --text x', 2],
      ['palimpsest note c', 2],
      ['palimpsest link c --relation continues', 2],
    ] as const) {
      const ran = await after(command)
      expect(ran.stderr).toMatch(/^error: /)
      expect([command, ran]).toMatchObject([command, { code, stdout: '' }])
    }
  })

  test('are shown by full and log if they are asked for', async () => {
    const noted = `palimpsest note c --kind my/x --text "by the way" > /dev/null
      palimpsest append c --role user --text d > /dev/null
      palimpsest link c --relation continues --ref x > /dev/null\n`
    const lines = (await after(`${noted}palimpsest show c --full --notes`)).stdout.split('\n')
    expect(lines.map((line) => line.slice(0, 11))).toEqual([
      '    0  user',
      '    1  assi',
      '    1  note',
      '    2  user',
      '    2  link',
      '',
    ])
    expect((await after(`${noted}palimpsest show c --full`)).stdout).not.toContain('note')
    for (const all of ['', ' --all']) {
      const log = (await after(`${noted}palimpsest log c --notes${all}`)).stdout
      expect(log.split('\n').map((line) => line.trim().split(' ', 1)[0])).toEqual([
        '0',
        '1',
        '1',
        '2',
        '2',
        '',
      ])
      expect(log).toContain('my/x  by the way')
    }
    expect(await json(`${noted}palimpsest log c --notes --json`)).toMatchObject({
      entries: [{}, {}, {}],
      notes: [
        { kind: 'note', position: 1 },
        { kind: 'link', position: 2 },
      ],
    })
  })
})

describe('list', () => {
  const family = `palimpsest append c:sub --role user --text s > /dev/null
    palimpsest link c:sub --relation subagent-of --to c > /dev/null
    palimpsest fork c fork > /dev/null
    palimpsest note c --kind title --text "The  title\nof it" > /dev/null\n`.replace('\nof', ' of')

  test('has the latest title, the links, and what each conversation belongs under', async () => {
    expect(await json(`${family}palimpsest list --json --sort id`)).toMatchObject({
      conversations: [
        { id: 'c', title: 'The title of it' },
        { id: 'c:sub', title: 's', parent: 'c', links: [{ relation: 'subagent-of', conversation: 'c' }] },
        { id: 'fork', title: 'The title of it', parent: 'c' },
      ],
    })
  })

  test('shows them as a tree on a terminal, circles of links too', () =>
    inDirectory(async (directory) => {
      const links = `palimpsest append x --role user --text x > /dev/null
        palimpsest append y --role user --text y > /dev/null
        palimpsest link x --relation continues --to y > /dev/null
        palimpsest link y --relation continues --to x > /dev/null`
      for (const line of `${begin}\n${family}${links}`.split('\n')) await shell(line.trim(), directory)
      let written = ''
      const write = (chunk: Buffer, _: unknown, done: () => void): void => {
        written += chunk.toString()
        done()
      }
      const screen = Object.assign(new Writable({ write }), { isTTY: true, columns: 80 })
      const url = `sqlite:${join(directory, 'palimpsest.db')}`
      const host = { stdin: Readable.from([]), stdout: screen, stderr: screen, env: {} }
      expect(await run(['--store', url, 'list', '--sort', 'id'], host)).toBe(0)
      const lines = stripVTControlCharacters(written).split('\n')
      expect(lines.slice(1, 6).map((line) => line.slice(9, 16).trimEnd())).toEqual([
        'c',
        '  c:sub',
        '  fork',
        'x',
        '  y',
      ])
    }))

  test('has a line for each in a pipe, not indented', async () => {
    const { stdout } = await after(`${family}palimpsest list --sort id`)
    expect(stdout.split('\n').map((line) => line.split('\t')[0])).toEqual(['c', 'c:sub', 'fork', ''])
  })
})
