import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { optionsOf } from '../../examples/workers/options.ts'
import { type Outcome, isGood, outcomeLines } from '../../examples/workers/outcome.ts'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { endsWithTest, start } from '../support/node.ts'

describe('the demo of workers', () => {
  test('kills processes until Ctrl-C; then everything is answered, once, and nothing is left running', async () => {
    const args = ['--seconds', '600', '--processes', '2', '--conversations', '12']
    const child = start('../examples/workers/main.ts', ...args)
    endsWithTest(child)
    if (!child.stdout) throw new Error('it prints nothing')
    const printed = text(child.stdout)
    child.stdout.on('data', (lines: Buffer) => {
      if (String(lines).includes('others have taken over')) child.kill('SIGINT')
    })
    expect(await once(child, 'exit')).toEqual([0, null])
    const lines = await printed
    const [, url = ''] = /PALIMPSEST_STORE=(.*)/.exec(lines) ?? []
    atEnd(() => rmSync(dirname(url.replace('sqlite:', '')), { recursive: true }))
    for (const what of ['doubled', 'misplaced', 'unanswered'])
      expect(lines).toMatch(new RegExp(`^${what} +0$`, 'm'))
    expect(lines).toMatch(/^refunds .*paid twice: 0$/m)
    expect(lines).toMatch(/^taken over {2}[1-9]\d* of \d+ claims, after \d+\.\d\d s \(p50\)/m)
    const store = await openStore(url)
    atEnd(store.close)
    for await (const { workers, steps } of store.workers())
      expect({ workers, steps }).toEqual({ workers: [], steps: [] })
  })

  test('shows what is wrong, and ends with an error', () => {
    const outcome: Outcome = {
      asked: 3,
      rewound: 0,
      deaths: [],
      answered: 3,
      seconds: 1,
      steps: 3,
      replies: 4,
      claims: 3,
      doubled: ['the reply at 2 of a answers no message'],
      misplaced: [],
      unanswered: ['the message at 0 of b has no answer'],
      takenOver: [],
      refunds: new Map([['a:1', 2]]),
    }
    expect(isGood(outcome)).toBe(false)
    expect(isGood({ ...outcome, doubled: [], unanswered: [] })).toBe(false)
    expect(isGood({ ...outcome, doubled: [], unanswered: [], refunds: new Map() })).toBe(true)
    const lines = outcomeLines(outcome)
    expect(lines).toEqual(
      expect.arrayContaining([
        'doubled     1',
        '            the reply at 2 of a answers no message',
        '            the message at 0 of b has no answer',
        'refunds     1, paid twice: 1',
      ]),
    )
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
  })

  test.each([
    [['--seconds', 'long'], '--seconds must be a whole number, 1 or more, not long'],
    [['--processes', '1'], '--processes must be a whole number, 2 or more, not 1'],
    [['--store', 'memory:'], '--store memory: is of one process only'],
    [['--killers', '3'], "Unknown option '--killers'"],
  ])('%j: says what is wrong and how it goes', (args, message) => {
    expect(optionsOf(args)).toMatchObject({ isWrong: true, print: expect.stringContaining(message) })
    expect(optionsOf(args)).toMatchObject({ print: expect.stringContaining('npm run demo:workers') })
  })
})
