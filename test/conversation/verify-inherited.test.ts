import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { shell } from '../cli/palimpsest.ts'
import { temporaryFolder } from '../support/stores.ts'

const user = (content: string) => ({ role: 'user' as const, content })

/** A parent of 5 events, of which the first was erased after the fork; a fork of it at 3, and a fork of this fork at 2. */
const family = async (): Promise<{ readonly folder: string; readonly sql: (text: string) => void }> => {
  const folder = temporaryFolder()
  const file = join(folder, 'palimpsest.db')
  const store = await openStore(`sqlite:${file}`)
  const parent = store.conversation('parent')
  for (let n = 0; n < 5; n++) await parent.append(user(`Word ${n}.`))
  const fork = await parent.fork('fork', { at: 3 })
  await fork.append(user('More.'))
  await fork.fork('grandchild', { at: 2 })
  await fork.fork('late', { at: 5 })
  await parent.erase({ positions: [0, 4], by: 'ann' })
  await store.close()
  const sql = (text: string): void => {
    const db = new DatabaseSync(file)
    db.exec(text)
    db.close()
  }
  return { folder, sql }
}
const ofParent = "stream = (SELECT id FROM streams WHERE name = 'conversation-parent')"

describe('the verification of a fork', () => {
  it('counts the events that it inherited', async () => {
    const { folder } = await family()
    const { stdout, code } = await shell('palimpsest verify fork', folder)
    expect([stdout, code]).toEqual(['ok       fork  2 events and 4 inherited from parent unchanged\n', 0])
    const all = await shell('palimpsest verify', folder)
    expect(all.stdout).toContain('fork  2 events unchanged')
    expect(all.code).toBe(0)
  })

  it('finds an inherited event that was changed, and names the parent', async () => {
    const { folder, sql } = await family()
    sql(`UPDATE events SET data = replace(data, 'Word 1', 'Lies 1') WHERE ${ofParent} AND revision = 1`)
    for (const id of ['fork', 'grandchild', 'late']) {
      const { stdout, code } = await shell(`palimpsest verify ${id}`, folder)
      expect([stdout, code]).toEqual([
        expect.stringMatching(
          `^CHANGED  ${id}  at 2, chain: inherited from parent: the event before it does not match`,
        ),
        1,
      ])
    }
    const all = await shell('palimpsest verify --json', folder)
    const { conversations } = JSON.parse(all.stdout) as { conversations: { discrepancy?: unknown }[] }
    expect(conversations.filter(({ discrepancy }) => discrepancy)).toHaveLength(1)
  })

  it('does not mind what happened in the parent after the fork', async () => {
    const { folder, sql } = await family()
    sql(`UPDATE events SET id = 'other' WHERE ${ofParent} AND revision = 3`)
    expect((await shell('palimpsest verify parent', folder)).code).toBe(1)
    expect((await shell('palimpsest verify grandchild', folder)).code).toBe(0)
  })

  it('finds inherited content that is gone without a record of its erasure', async () => {
    const { folder, sql } = await family()
    sql(`DELETE FROM events WHERE ${ofParent} AND type = 'Erased'`)
    const { stdout } = await shell('palimpsest verify fork', folder)
    expect(stdout).toMatch(/^CHANGED {2}fork {2}at 0, erased: inherited from parent: /)
  })
})
