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
