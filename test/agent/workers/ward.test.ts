import { expect, test } from 'vitest'
import { program } from '../../support/node.ts'
import { played } from '../../support/workers/chaos/run.ts'

const worker = program('agent/workers/children/useless.ts')
const playedBy = (slots: number, limits: { readonly quiet: number; readonly whole: number }) =>
  played(
    { setting: { on: 'SQLite', workers: 1, slots, seed: 1 }, talk: { conversations: 1, rounds: 1 } },
    { program: worker, limits },
  )

test('a scene in which nothing happens any more fails, and says what waits for whom', async () => {
  const failed = expect.objectContaining({
    message: expect.stringMatching(
      /nothing has happened[^]*waited for: 1\n.*c0\n[^]*open steps: 1\n.*"state":"open"[^]*processes: 1\n.*useless: lives[^]*MessageAppended/,
    ) as string,
  }) as Error
  await expect(playedBy(2, { quiet: 300, whole: 60_000 })).rejects.toEqual(failed)
})

test('a scene that takes too long fails, whatever happens in it', async () => {
  await expect(playedBy(2, { quiet: 60_000, whole: 100 })).rejects.toThrow('takes longer')
})

test('a scene fails at once when a worker ends by itself, and gives its last words', async () => {
  await expect(playedBy(1, { quiet: 600_000, whole: 600_000 })).rejects.toThrow(/ended with 1\n[^]*one slot/)
})
