import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextLines } from '../../examples/agent/report.ts'
import { openStore } from '../../src/index.ts'
import { node, program } from '../support/node.ts'

const demo = (...args: readonly string[]) => demoIn(tmpdir(), ...args)

const demoIn = (TMPDIR: string, ...args: readonly string[]) => {
  const { ANTHROPIC_API_KEY: _, ...env } = process.env
  return spawnSync(node, [program('../examples/agent/main.ts'), ...args], {
    encoding: 'utf8',
    env: { ...env, TMPDIR, NODE_OPTIONS: '--disable-warning=ExperimentalWarning' },
  })
}

describe('the demo agent', () => {
  let ran: ReturnType<typeof demo>
  let project = ''
  beforeAll(() => {
    ran = demo('--turns', '12', '--window', '8000')
    project = /^Its files are in (.*)\. What/m.exec(ran.stdout)?.[1] ?? ''
  })
  afterAll(() => {
    if (project !== '') rmSync(join(project, '..'), { recursive: true })
  })

  test('ends well, with a line for each turn', () => {
    expect(ran).toMatchObject({ status: 0, stderr: '' })
    const turns = ran.stdout.split('\n').flatMap((line) => /^ *(\d+) {2}\w/.exec(line)?.[1] ?? [])
    expect(turns).toEqual(Array.from({ length: 12 }, (_, index) => String(index + 1)))
    expect(Math.max(...ran.stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
  })

  test('says first of all what the conversation is and where it is, for whoever interrupts it', () => {
    const [, second] = ran.stdout.split('\n')
    const [, url] = /PALIMPSEST_STORE=(.*)/.exec(ran.stdout) ?? []
    const [, id] = /palimpsest log (\S+)/.exec(ran.stdout) ?? []
    expect(second).toBe(`Conversation ${id} in ${url}`)
  })

  test('condenses, and truncates where it cannot, and no request is refused', () => {
    expect(ran.stdout).toMatch(/^condensed {2}[1-9]/m)
    expect(ran.stdout).toMatch(/^truncated {2}[1-9]/m)
    expect(ran.stdout).toMatch(/^refused {4}none/m)
  })

  test('can show every request that it made', async () => {
    const [, url = ''] = /PALIMPSEST_STORE=(.*)/.exec(ran.stdout) ?? []
    const [, id = ''] = /palimpsest log (\S+)/.exec(ran.stdout) ?? []
    const store = await openStore(url)
    const { receipts, findings } = await store.conversation(id).verifyReceipts()
    await store.close()
    expect(findings).toEqual([])
    expect(receipts).toBeGreaterThan(20)
    expect(ran.stdout).toMatch(new RegExp(`^receipts {3}${receipts} of ${receipts} `, 'm'))
  })

  test('does real work: the bug is mended, to-dos are done, tests are written', () => {
    const text = (path: string): string => readFileSync(join(project, path), 'utf8')
    expect(text('src/invoice.js')).toContain('times(rate, minutes / 60)')
    expect(text('src/money.js')).toContain(
      "if (!amounts.every(Number.isInteger)) throw new RangeError('refused')",
    )
    expect(readdirSync(join(project, 'test'))).toContain('money-1.test.js')
  })
})

describe('where to look afterwards', () => {
  test('is a store whose name a shell takes as it is', () => {
    const lines = nextLines("sqlite:/tmp/Dana's files/a.db", 'abc', '/tmp/project', 3)
    expect(lines).toContain(`  export PALIMPSEST_STORE='sqlite:/tmp/Dana'\\''s files/a.db'`)
  })

  test('is nowhere, if the store was in memory', () => {
    const { stdout, status } = demo('--turns', '1', '--store', 'memory:')
    const [, project = ''] = /^Its files are in (.*)\.$/m.exec(stdout) ?? []
    rmSync(join(project, '..'), { recursive: true })
    expect(status).toBe(0)
    expect(stdout).not.toMatch(/palimpsest (log|request|verify)|PALIMPSEST_STORE/)
  })
})

describe('arguments of the demo agent', () => {
  test.each([
    [['--turns', 'many'], '--turns must be a whole number, 1 or more, not many'],
    [['--window', '500'], '--window must be a whole number, 8000 or more, not 500'],
    [['--model', ' '], '--model is the name of a model'],
    [['--trns', '3'], "Unknown option '--trns'"],
  ])('%j: says what is wrong and how it goes', (args, message) => {
    const { status, stderr } = demo(...args)
    expect(status).toBe(2)
    expect(stderr).toContain(message)
    expect(stderr).toContain('npm run demo:agent')
  })

  test('a store that cannot be opened: says so', () => {
    expect(demo('--store', 'nowhere:x')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('no store is registered for nowhere: URLs'),
    })
  })

  test('--help says what it does, and what it costs', () => {
    expect(demo('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('ANTHROPIC_API_KEY') })
  })

  test('leaves nothing behind where its store cannot be opened', () => {
    const folder = mkdtempSync(join(tmpdir(), 'demo-refused-'))
    for (const url of ['demo.db', 'sqlite:/nowhere/demo.db'])
      expect(demoIn(folder, '--store', url)).toMatchObject({ status: 1, stdout: '' })
    expect(readdirSync(folder)).toEqual([])
    rmdirSync(folder)
  })
})
