import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { run } from '../../src/cli/run.ts'
import { conversationNamed } from '../../src/cli/shell.ts'
import { shortIds, shortIdsIn } from '../../src/cli/short-ids.ts'
import { openStore } from '../../src/index.ts'
import { inDirectory, shell } from './palimpsest.ts'

const parser = '6513270e-269e-4d37-b2a7-4de452e6b438'
const billing = '8463c716-a2ea-4c14-9efa-87158ebd9f20'

test('ids of programs are shortened to eight digits or more, agents to four letters, names that people chose not at all', () => {
  const twin = `${parser.slice(0, 10)}00-4d37-b2a7-4de452e6b438`
  const ids = [
    parser,
    twin,
    billing,
    `${billing}:a7be2f0`,
    `${billing}:tests`,
    'openai-c0cdaa8cb96acd89',
    'a-task-with-a-long-name',
  ]
  expect([...shortIds(ids).values()].toSorted()).toEqual([
    '6513270e-20',
    '6513270e-26',
    '8463c716',
    '8463c716:a7be',
    '8463c716:tests',
    'a-task-with-a-long-name',
    'openai-c0cdaa8c',
  ])
})

test('every short id names its conversation, and no other', async () => {
  const part = fc.stringMatching(/^(x-)?[0-3]{1,3}(0123456701[01]{1,4})?$/)
  const id = fc.oneof(
    part,
    fc.tuple(part, fc.stringMatching(/^[01]{1,6}$/)).map((parts) => parts.join(':')),
  )
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(id, { minLength: 1, maxLength: 12 }), async (ids) => {
      const store = await openStore('memory:')
      for (const each of ids) await store.conversation(each).append({ role: 'user', content: 'Hi.' })
      for (const [whole, short] of [...shortIds(ids), ...(await shortIdsIn(store, ids.slice(0, 2)))])
        expect(await conversationNamed(store, short)).toBe(whole)
      await store.close()
    }),
    { numRuns: 30, examples: [[['x-0:11111', '0:0', 'x-0:1111', '0']]] },
  )
})

describe('on a terminal', () => {
  const plain = async (args: readonly string[], columns = 80): Promise<readonly string[]> => {
    let written = ''
    const write = (chunk: Buffer, _: unknown, done: () => void): void => {
      written += chunk.toString()
      done()
    }
    const screen = Object.assign(new Writable({ write }), { isTTY: true, columns })
    expect(
      await run(args, {
        stdin: Readable.from([]),
        stdout: screen,
        stderr: new Writable({ write: (_, __, done) => done() }),
        env: {},
      }),
    ).toBe(0)
    return stripVTControlCharacters(written).trimEnd().split('\n')
  }

  const inSessions = (work: (store: readonly string[], directory: string) => Promise<void>): Promise<void> =>
    inDirectory(async (directory) => {
      const url = `sqlite:${join(directory, 'palimpsest.db')}`
      const store = await openStore(url)
      const long = 'word '.repeat(40)
      for (const [id, output] of [
        [parser, 10],
        [billing, 4_000],
        [`${billing}:a7be2f0`, 1_000],
      ] as const) {
        const chat = store.conversation(id)
        await chat.append({ role: 'user', content: `${long}Why does the parser fail? ${long}` })
        const usage = { input_tokens: 15_700_000, output_tokens: output }
        await chat.append({ role: 'assistant', content: 'Yes.', origin: { model: 'claude-opus-4-5', usage } })
      }
      await store.conversation(`${billing}:a7be2f0`).link({ relation: 'subagent-of', conversation: billing })
      await store.conversation(parser).note({ kind: 'title', data: 'Fix the parser of the configuration' })
      await store.close()
      await work(['--store', url], directory)
    })

  test('lists show short ids, so that the title has room; in a pipe ids are whole', () =>
    inSessions(async (store, directory) => {
      const lines = await plain([...store, 'list'])
      expect(lines.join('\n')).toMatch(/ 6513270e .*Fix the parser of/)
      expect(lines.join('\n')).toMatch(/ 8463c716 .*\n\w+ {3,}8463c716:a7be /)
      expect(await plain([...store, 'list', '--limit', '2'])).toHaveLength(3)
      expect((await shell('palimpsest list', directory)).stdout).toContain(`${parser}\t`)
    }))

  test('a command that writes names the conversation that it changed', () =>
    inSessions(async (store) => {
      const note = ['note', '6513270e', '--kind', 'title', '--text', 'Fix it']
      expect((await plain([...store, ...note])).at(-1)).toBe(`in ${parser}  Fix it`)
      for (const command of ['rewind 6513270e --to 0', 'undo 6513270e', 'fork 6513270e copy'])
        expect((await plain([...store, ...command.split(' ')])).at(-1)).toBe(`in ${parser}  Fix it`)
    }))

  test('a match is in the middle of the text around it, and is never cut', () =>
    inSessions(async (store, directory) => {
      for (const columns of [80, 40]) {
        const lines = await plain([...store, 'search', 'the parser fail'], columns)
        expect(lines).toHaveLength(3)
        for (const line of lines) expect(line).toMatch(/the parser fail/)
        if (columns === 80)
          for (const line of lines) expect(line).toMatch(/^\S+ +0 {2}user +….* the parser fail.*…$/)
        if (columns === 80) for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
      }
      expect((await shell('palimpsest search "parser fail"', directory)).stdout).toContain(
        `${billing}\t0\tuser\t`,
      )
    }))

  test('costs are sorted, with titles and short numbers; --limit keeps the total', () =>
    inSessions(async (store, directory) => {
      const [head, ...rows] = await plain([...store, 'cost'], 120)
      expect(head).toMatch(/^conversation .* usd +in all +title$/)
      expect(rows.map((row) => row.split(/\s+/)[0])).toEqual([
        '8463c716',
        '8463c716:a7be',
        '6513270e',
        'total',
      ])
      expect(rows[0]).toMatch(/^8463c716 +1 +15\.7M +0 +0 +4\.0k +78\.60 +157\.13 +word word/)
      expect(rows[2]).toContain('Fix the parser')
      const few = await plain([...store, 'cost', '--limit', '1'])
      expect(few.at(-1)).toBe('2 more rows, included in the total')
      const { stdout } = await shell('palimpsest cost --limit 1', directory)
      expect(stdout).toMatch(
        new RegExp(`^${billing}\t1\t15700000\t0\t0\t4000\t78.6000\t157.1250\ntotal\t3\t47100000\t`),
      )
    }))
})
