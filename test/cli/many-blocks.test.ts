import { join } from 'node:path'
import { openStore } from 'palimpsest'
import { expect, test } from 'vitest'
import { inDirectory, shell } from './palimpsest.ts'

/** More than fit into the arguments of a call. */
const many = 150_000

test('a message of very many blocks is shown by every command, on one line', async () => {
  await inDirectory(async (directory) => {
    const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
    const chat = store.conversation('c')
    await chat.append({ role: 'user', content: 'x' })
    await chat.append({
      role: 'user',
      content: Array.from({ length: many }, () => ({ type: 'text', text: 'y' })),
    })
    await store.close()
    for (const command of [
      'show c',
      'full c',
      'log c',
      'diff c --from 0',
      // By activity it says on a slow machine that the index is not there yet.
      'list --sort begun',
      'stats c',
      'truncate c --covers 0..0',
    ]) {
      const { code, stderr } = await shell(`palimpsest ${command}`, directory)
      expect([command, code, stderr]).toEqual([command, 0, ''])
    }
    const { stdout } = await shell('palimpsest show c', directory)
    expect(stdout.trimEnd().split('\n')).toHaveLength(2)
    expect(stdout.match(/ y/g)).toHaveLength(many)
  })
})
