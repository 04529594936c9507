import { describe, expect, test } from 'vitest'
import { inDirectory, shell } from './palimpsest.ts'

/** How a command line that should be wrong usage is answered, in a folder without a store. */
const answered = async (line: string): Promise<{ readonly code: number | null; readonly error: string }> => {
  const { code, stderr } = await inDirectory((directory) => shell(`palimpsest ${line}`, directory))
  return { code, error: stderr }
}

const selections = ['--fraction 0.5', '--keep-first 1', '--keep-last 1', '--keep-tokens 9']
const pairs: readonly (readonly [command: string, one: string, other: string])[] = [
  ...selections.map((one) => ['condense t --summary x', one, '--covers 1..2'] as const),
  ...selections.map((one) => ['truncate t', one, '--covers 1..2'] as const),
  ['condense t --keep-last 1', '--summary x', '--summary-file x'],
  ['configure t', '--system x', '--system-file x'],
  ['append t --role user', '--text x', '--file x'],
  ['rewind t', '--to 1', '--before 1'],
  ['rewind t', '--to 1', '--turns 1'],
  ['rewind t', '--before 1', '--turns 1'],
  ['request t', '--call 1', '--list'],
  ['request t', '--call 1', '--at 1'],
  ['request t', '--list', '--prefill'],
  ['copy --to memory:', '--from sqlite:a.db', '--store sqlite:b.db'],
]

describe('options that contradict each other are wrong usage', () => {
  test.each(pairs)('%s %s %s', async (command, one, other) => {
    for (const both of [`${one} ${other}`, `${other} ${one}`]) {
      const { code, error } = await answered(`${command} ${both}`)
      expect(code).toBe(2)
      for (const option of [one, other]) expect(error).toContain(option.split(' ')[0])
      expect(error).toContain('cannot be used with')
    }
  })

  test.each([
    'append t --role user --text x',
    'undo t',
    'rewind t --to 1',
    'truncate t',
    'restore t --marker 1',
  ])('%s: what is tolerated since no position is none, too', async (command) => {
    const { code, error } = await answered(`${command} --tolerate markers`)
    expect([code, error]).toEqual([2, expect.stringContaining("without option '--expect <position>'")])
  })

  test.each([
    ['audit seal --anchor https://witness.example', '--anchor https://witness.example: write a witness as'],
    ['audit verify --anchor tsa:https://tsa.example', 'write a timestamp authority as'],
    ['audit verify e --key typo', '--key typo is neither a file nor a verifier key'],
    ['serve --port 0 --anchor seen.txt', '--anchor has no effect without --seal or --patrol'],
    ['serve --port 0 --slots 2', '--slots needs --work'],
    ['serve --port 0 --allow-host https://a.example/', '--allow-host must be a host name'],
    ['show t --last 2', "'--last' cannot be used without option '--full'"],
    [
      'request t --call 0',
      'the number of a call, from 1, or p followed by the position of a reply (p17), or last',
    ],
    ['work agent.ts --anchor seen.txt', '--anchor needs --seal'],
  ])('%s: what nothing can use is said', async (command, problem) => {
    const begun =
      'palimpsest append a --role user --text Hello. > /dev/null; palimpsest audit init > /dev/null'
    const { code, stderr } = await inDirectory((directory) =>
      shell(`${begun}; palimpsest ${command}`, directory),
    )
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)])
  })

  test('as an error in JSON too', async () => {
    const { error } = await answered('rewind t --to 1 --turns 1 --json')
    expect(JSON.parse(error)).toMatchObject({ error: { _tag: 'Usage' } })
  })

  test.each([
    'truncate t --fraction 0.5 --keep-last 1 --keep-tokens 9',
    'append t --role user --text x --tolerate markers --expect 1',
  ])('but not: %s', async (command) => expect((await answered(command)).code).toBe(1))
})
