import { describe, expect, test } from 'vitest'
import { inDirectory, type Ran, shell } from './palimpsest.ts'

const ran = (command: string): Promise<Ran> =>
  inDirectory(async (directory) => {
    await shell('palimpsest append c --role user --text One', directory)
    await shell('palimpsest append c --role assistant --text Two', directory)
    return shell(`palimpsest ${command}`, directory)
  })

describe('a message says what to do next', () => {
  test.each([
    ['show elsewhere', 'there is no conversation elsewhere in this store: palimpsest list shows all'],
    ['fork c c', 'conversation c already exists: choose another id'],
    [
      'import examples/sessions/claude-code.jsonl --format roo',
      'If the file is not in the format roo, leave --format out',
    ],
    ['audit init > /dev/null; palimpsest audit init', 'palimpsest audit status shows the ledger of a store'],
    ['retry c', 'no step of c is parked: palimpsest steps lists the steps'],
    ['serve token list', 'is missing: create it with palimpsest serve token create'],
  ])('%s', async (command, said) => {
    const { stderr, code } = await ran(command)
    expect({ stderr, code }).toEqual({ stderr: expect.stringContaining(said), code: 1 })
  })

  test('say, in a conversation that nobody is answering', async () => {
    const { stdout } = await ran('append c --role user --text Three; palimpsest say c "And?"')
    expect(stdout).toContain('queued for c, which awaits the model or results')
  })
})

test('search finds only what the model does not see, if asked', async () => {
  const { stdout } = await ran(
    'truncate c --covers 1..1; palimpsest search One; palimpsest search Two --hidden',
  )
  expect(stdout).toMatch(/\tshown\tOne\n/)
  expect((await ran('search Two --hidden')).stdout).toBe('')
  expect(stdout).toMatch(/\thidden by 2\tTwo\n/)
})

test('log shows the path to a position', async () => {
  const { stdout } = await ran('rewind c --to 0; palimpsest log c --at 1')
  expect(stdout).toMatch(/Two\n$/)
})

describe('a session is named by the short form of its id', () => {
  const id = '6513270e-269e-4d37-b2a7-4de452e6b438'
  const session = `palimpsest append ${id} --role user --text One;`

  test('also by commands that begin a conversation under an unknown id', async () => {
    const { stdout, code } = await ran(
      `append d --role user --text Other; ${session} palimpsest append 6513270e --role assistant --text Two; palimpsest say 6513270e Three; palimpsest show ${id}`,
    )
    expect({ stdout, code }).toEqual({ stdout: expect.stringMatching(/One\n.*Two\n.*Three\n$/), code: 0 })
  })

  test('but not by less, and not of an id that is no UUID', async () => {
    const { stdout } = await ran(
      `append d-12345678 --role user --text One; ${session} palimpsest append 6513 --role user --text New; palimpsest append d-123456 --role user --text New; palimpsest list --sort id | cut -f1`,
    )
    expect(stdout).toMatch(/\n6513\n6513270e-\S+\nc\nd-123456\nd-12345678\n$/)
  })
})

describe('show --position', () => {
  const long = 'word '.repeat(100).trim()

  test('prints one message with all of its text, also one that the model no longer sees', async () => {
    const { stdout } = await ran(
      `append c --role user --text "${long}"; palimpsest truncate c --covers 1..2; palimpsest show c --position 2`,
    )
    expect(stdout).toMatch(
      new RegExp(`## 2 · user · .*\n\n\\*No longer shown: truncated at 3\\.\\*\n\n${long}\n$`),
    )
    expect(JSON.parse((await ran('show c --position 1 --json')).stdout)).toMatchObject({
      conversation: 'c',
      entry: { position: 1, content: [{ text: 'Two' }] },
    })
  })

  test('says where every event is listed if the one at a position is neither a message nor a marker', async () => {
    const { stderr, code } = await ran('rewind c --to 0; palimpsest show c --position 2')
    expect(code).not.toBe(0)
    expect(stderr).toContain('no message or marker is at 2: palimpsest log c --all lists every event')
  })
})

describe('audit export', () => {
  test('withholds what a repeated --redact names, all of it', async () => {
    const { stdout } = await ran('audit export c --redact 0 --redact 1 --out e')
    expect(stdout).toContain('withheld: 0, 1\n')
    const { stdout: html } = await ran(`audit export c --format prov --redact 0 --redact 1 --out e.jsonld`)
    expect(html).toContain('withheld: 0, 1\n')
  })

  test('says that the last events are not sealed yet', async () => {
    const sealed = 'audit init > /dev/null && palimpsest audit seal > /dev/null;'
    const { stdout } = await ran(
      `${sealed} palimpsest audit export c --out e; palimpsest append c --role user --text Three > /dev/null; palimpsest audit export c --out f`,
    )
    expect(stdout).not.toMatch(/Wrote e: .*\n.*NOT PROVEN/)
    expect(stdout).toMatch(/Wrote f: .*\n {2}NOT PROVEN: the last event is not sealed yet/)
  })
})

test('audit verify refuses an option that it would ignore', async () => {
  const { stderr, code } = await ran('audit verify folder --anchor elsewhere/')
  expect({ stderr, code }).toEqual({
    stderr: expect.stringContaining('--anchor is for the store, not for folders'),
    code: 2,
  })
})
