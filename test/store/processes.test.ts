import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore, type Store } from 'palimpsest'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundle } from '../support/bundle.ts'
import { ended, program, start } from '../support/node.ts'
import { runs } from '../support/runs.ts'
import { temporaryFolder } from '../support/stores.ts'

const writers = 6
const each = runs(120)
const kills = runs(30)

/** What every conversation of a store holds: `id position text`, as the writers print it. */
const stored = async (store: Store): Promise<readonly string[]> => {
  const lines: string[] = []
  for await (const { id } of store.conversations()) {
    expect(await store.conversation(id).verify()).not.toHaveProperty('discrepancy')
    for await (const { position, type, data } of store.conversation(id).events())
      if (type === 'MessageAppended') lines.push(`${id} ${position} ${String(data.content[0]?.['text'])}`)
  }
  return lines
}
const lines = (output: string): readonly string[] => output.split('\n').slice(0, -1)

// Many processes: each loads a few files in place of all the sources.
const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
const writer = join(folder, 'writer.js')
beforeAll(() => bundle(program('store/children/writer.ts'), folder))
afterAll(() => rmSync(folder, { recursive: true }))

describe('several processes on one file', () => {
  test.each([1, 16])(
    `${writers} processes append ${each} messages each to %i conversation(s): nothing is lost, doubled or refused`,
    async (conversations) => {
      // How long a lock may be waited for says how slow the machine is, not whether a writer is refused.
      const url = `sqlite:${join(temporaryFolder(), 'store.db')}?timeout=60000`
      const children = Array.from({ length: writers }, (_, n) =>
        ended(start(writer, url, `w${n}`, String(each), String(conversations))),
      )
      const results = await Promise.all(children)
      expect(results.map(({ code }) => code)).toEqual(results.map(() => 0))
      const acknowledged = results.flatMap(({ output }) => lines(output))
      expect(acknowledged).toHaveLength(writers * each)
      const store = await openStore(url)
      expect((await stored(store)).toSorted()).toEqual(acknowledged.toSorted())
      await store.close()
    },
  )

  test(`a writer is killed ${kills} times at random moments: every acknowledged message is there once, and the chain holds`, async () => {
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const acknowledged: string[] = []
    for (let round = 0; round < kills; round++) {
      const child = start(writer, url, `r${round}`, '100000', '3')
      const result = ended(child)
      await new Promise((resolve) => child.stdout?.once('data', resolve))
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60))
      child.kill('SIGKILL')
      acknowledged.push(...lines((await result).output))
    }
    const store = await openStore(url)
    const all = await stored(store)
    expect(new Set(all).size).toBe(all.length)
    expect(acknowledged.length).toBeGreaterThanOrEqual(kills)
    expect(new Set(acknowledged).difference(new Set(all))).toEqual(new Set())
    // A write may have been kept whose acknowledgement the kill cut off, one a round at most.
    expect(all.length - acknowledged.length).toBeLessThanOrEqual(kills)
    await store.close()
  })
})
