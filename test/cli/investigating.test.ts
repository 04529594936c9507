import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { atEnd } from '../support/at-end.ts'
import { inDirectory, shell } from './palimpsest.ts'

const id = 'hours-invoice'
const ends = `${id} --good 10 --bad 48`
const agent = 'examples/sample/agent.ts'

test('the exit code of an investigation says what that of every command does', () =>
  inDirectory(async (directory) => {
    await shell('palimpsest import examples/sessions/receipts.jsonl', directory)
    await shell('palimpsest append plain --role user --text Hello.', directory)
    writeFileSync(join(directory, 'torn.json'), '{')
    writeFileSync(join(directory, 'wrong.json'), '{"mode":"x"}')
    writeFileSync(join(directory, 'right.json'), '{"context":{"window":20000}}')
    const codes: Record<string, number | null> = {}
    const right = [
      `cost ${id}`,
      `cache ${id}`,
      `why ${id}`,
      `why ${id} --all`,
      'why plain --all',
      `replay ${id} --policy right.json`,
      `bisect ${ends}`,
    ]
    // Refused, not found, or invalid data.
    const refused = [
      ...[
        'none',
        `${id} --prices none.json`,
        `${id} --prices torn.json`,
        `${id} --prices wrong.json`,
      ].flatMap((given) => [`cost ${given}`, `cache ${given}`]),
      ...['none.json', 'torn.json', 'wrong.json'].flatMap((file) => [
        `replay ${id} --policy ${file}`,
        `replay ${id} --compare ${file}`,
      ]),
      `replay ${id} --compare right.json --html none/page.html`,
      `replay ${id} --agent ${agent} --call 99`,
      `replay ${id} --agent none.ts --call 1`,
      'why none',
      'why plain',
      'why none --all',
      `why ${id} --call 99`,
      `why ${id} --call p0`,
      `bisect ${id} --good 48 --bad 10`,
      `bisect ${id} --good 10 --bad 99`,
      `bisect ${ends} --run "exit 130"`,
      `bisect ${ends} --run "exit 125"`,
      `bisect ${ends} --ask why --agent none.ts`,
      `replay ${id} --agent hasty.ts`,
    ]
    const wrong = [
      `cost ${id} --all`,
      `cost ${id} --by hour`,
      `why ${id} --call 0`,
      `why ${id} --call p`,
      `why ${id} --all --call 1`,
      `replay ${id} --html page.html`,
      `replay ${id} --policy right.json --compare right.json`,
      `bisect ${id} --good 10`,
      `bisect ${ends} --ask why`,
      `bisect ${ends} --ask why --agent ${agent}`,
      `bisect ${ends} --timeout 5`,
      // Of an agent, as of diff: they cannot be compared.
      `replay ${id} --agent none.ts`,
      `replay none --agent ${agent}`,
      `replay ${id} --agent ${agent} --from 99`,
    ]
    writeFileSync(
      join(directory, 'hasty.ts'),
      `import { agent } from './${agent}'\nexport default () => ({ ...agent, system: 'Be quick.' })`,
    )
    for (const command of [...right, ...refused, ...wrong])
      codes[command] = (await shell(`palimpsest ${command}`, directory)).code
    const expected = [
      ...right.map((one) => [one, 0]),
      ...refused.map((one) => [one, 1]),
      ...wrong.map((one) => [one, 2]),
    ]
    expect(codes).toEqual(Object.fromEntries(expected))
  }))

test('why tells of a reply of an import what it was shown, and that no receipt proves it', () =>
  inDirectory(async (directory) => {
    const imported = await shell('palimpsest import examples/sessions/claude-code.jsonl', directory)
    const [name = ''] = imported.stdout.split(' ')
    const last = await shell(`palimpsest why ${name}`, directory)
    const [, position = ''] = /^call p(\d+): the reply at \1, to the context at \d+/.exec(last.stdout) ?? []
    expect(last.stdout).toContain(
      '\nderived from the log, not proven by a receipt\nnot recorded: system, tools, parameters',
    )
    expect(await shell(`palimpsest why ${name} --call p${position}`, directory)).toEqual(last)
    expect(await shell(`palimpsest why ${name} --call last`, directory)).toEqual(last)
    const summary = await shell(`palimpsest why ${name} --call p22`, directory)
    expect(summary.stderr).toContain(', the next one from 22 on is p23')
    const numbered = await shell(`palimpsest why ${name} --call 22`, directory)
    expect(numbered.stderr).toContain(
      `name a reply without one by p and its position; the last is p${position}`,
    )
  }))

test('request derives the request of a reply of an import from the log, by the names that why takes', () =>
  inDirectory(async (directory) => {
    const imported = await shell('palimpsest import examples/sessions/claude-code.jsonl', directory)
    const [name = ''] = imported.stdout.split(' ')
    const why = await shell(`palimpsest why ${name} --json`, directory)
    const { call, at } = JSON.parse(why.stdout) as { readonly call: string; readonly at: number }
    const last = await shell(`palimpsest request ${name} --call ${call}`, directory)
    expect(last.stderr).toContain('derived from the log, not proven by a receipt')
    expect(last.stdout).toBe((await shell(`palimpsest request ${name} --at ${at}`, directory)).stdout)
    for (const other of ['last', call.slice(1)])
      expect(await shell(`palimpsest request ${name} --call ${other}`, directory)).toEqual(last)
    for (const command of ['why', 'request'])
      expect((await shell(`palimpsest ${command} ${name} --call p22`, directory)).stderr).toContain(
        ', the next one from 22 on is p23',
      )
  }))

test('what is wrong with a policy says in which file, and what was meant', () =>
  inDirectory(async (directory) => {
    await shell('palimpsest import examples/sessions/receipts.jsonl', directory)
    writeFileSync(join(directory, 'right.json'), '{"context":{"window":20000}}')
    writeFileSync(join(directory, 'slip.json'), '{"context":{"windw":20000}}')
    writeFileSync(join(directory, 'small.json'), '{"context":{"window":5000}}')
    const said = async (command: string) =>
      (await shell(`palimpsest replay ${id} ${command}`, directory)).stderr
    const slip = 'error: slip.json: context.windw: is unknown: did you mean window?\n'
    expect(await said('--compare right.json slip.json')).toBe(slip)
    expect(await said('--policy slip.json')).toBe(slip)
    expect(await said('--compare right.json small.json')).toBe(
      'error: small.json: window: 5000 tokens leave no room for a request after the buffer and 8192 tokens of output: make it 9104 or more, or `reserved` 4499 or less\n',
    )
  }))

test('why --all lists what a summary lost, and says so if it lost nothing', () =>
  inDirectory(async (directory) => {
    const append = (role: string, text: string) =>
      shell(`palimpsest append lost --role ${role} --text "${text}"`, directory)
    await append('user', 'See /repo/src/parser.ts and QX-7781.')
    await append('assistant', 'I see.')
    await append('user', 'Continue.')
    const before = await shell('palimpsest why lost --all', directory)
    expect(before.stdout).toBe('nothing lost (1 reply examined)\n')
    await shell('palimpsest condense lost --covers 0..1 --summary "About QX-7781."', directory)
    await append('assistant', 'I fix /repo/src/parser.ts for QX-7781.')
    const after = await shell('palimpsest why lost --all', directory)
    expect(after.stdout.split('\n')).toEqual([
      'lost: 1 name that a reply used and nothing visible contained (2 replies examined)',
      '    1  /repo/src/parser.ts  first in call p4, in 0, hidden by 3',
      'not lost: 1 name that a summary kept of hidden messages: --json lists it',
      '',
    ])
    const story = await shell('palimpsest why lost --marker 3', directory)
    expect(story.stdout.split('\n')).toEqual([
      'marker 3: 2 messages condensed',
      'asked: 1',
      '  0  See /repo/src/parser.ts and QX-7781.',
      'lost in the summary: 1',
      '  /repo/src/parser.ts  said at 0, needed at 4',
      '',
    ])
    const none = await shell('palimpsest why lost --marker 0', directory)
    expect(none.stderr).toBe('error: there is no marker at position 0 of lost: `log lost` lists them\n')
    const { stdout } = await shell('palimpsest why lost --all --json', directory)
    expect(JSON.parse(stdout)).toMatchObject({
      conversation: 'lost',
      replies: 2,
      needed: [{ term: '/repo/src/parser.ts' }, { term: 'QX-7781' }],
    })
  }))

test('bisect --ask says how much it sends, and that it could read no answer as yes or no', () =>
  inDirectory(async (directory) => {
    await shell('palimpsest import examples/sessions/receipts.jsonl', directory)
    const api = await messagesApi({ reply: () => ({ content: [{ type: 'text', text: 'I cannot tell.' }] }) })
    atEnd(api.close)
    writeFileSync(
      join(directory, 'agent.mjs'),
      `import Anthropic from '${import.meta.resolve('@anthropic-ai/sdk')}'
const client = new Anthropic({ baseURL: '${api.url}', apiKey: 'key' })
export default () => ({ client, model: 'claude-opus-5-5' })`,
    )
    const asking = `palimpsest bisect ${ends} --ask "Is it lost?" --agent agent.mjs`
    const { stderr } = await shell(asking, directory)
    expect(stderr).toContain('to send: at least 16 requests, 10 at the ends, 6 or more between them')
    expect(stderr).toContain('nothing was sent: give --yes')
    expect(api.requests).toEqual([])
    const sent = await shell(`${asking} --yes`, directory)
    expect(sent.code).toBe(1)
    expect(sent.stderr).toMatch(/none of the \d+ answers could be read as yes or no/)
  }))
