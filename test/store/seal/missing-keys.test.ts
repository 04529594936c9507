import { hash } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { diagnose } from '../../../src/api/schemes.ts'
import { newKeyFile } from '../../../src/audit.ts'
import { openStore, type Store } from '../../../src/index.ts'
import { serving } from '../../support/server/asking.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { ended, startHeard } from '../../support/node.ts'
import { temporaryFolder } from '../../support/stores.ts'
import { shell } from '../../cli/palimpsest.ts'

const user = (content: string) => ({ role: 'user' as const, content })

const opened = async (url: string): Promise<Store> => {
  const store = await openStore(url)
  atEnd(store.close)
  return store
}

const all = async <A>(items: AsyncIterable<A>): Promise<readonly A[]> => {
  const some: A[] = []
  for await (const item of items) some.push(item)
  return some
}

/** A store with a ledger; afterwards, the keys of `b` and `c` were lost, as by putting back an older copy. */
const withLostKeys = async (): Promise<string> => {
  const folder = temporaryFolder()
  const keys = join(folder, 'keys/')
  const url = `sqlite:${join(folder, 'store.db')}?seal=${keys}`
  const store = await openStore(url)
  const signer = await newKeyFile(join(folder, 'ledger.key'))
  await store.audit.init({ signer })
  for (const id of ['a', 'b', 'c', 'd']) await store.conversation(id).append(user(`The elephant of ${id}.`))
  await store.conversation('b').append([user('One.'), user('Two.'), user('Three.')])
  await store.audit.seal({ signer })
  await store.close()
  for (const id of ['b', 'c']) rmSync(join(keys, hash('sha256', id)), { recursive: true })
  return url
}

describe('a store in which the keys of some conversations are missing', () => {
  it('lists the others, and these with the reason', async () => {
    const store = await opened(await withLostKeys())
    for (const sort of ['begun', 'activity', 'id'] as const) {
      const listed = await all(store.conversations({ sort }))
      expect(listed.map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c', 'd'])
      expect(
        listed
          .filter(({ isKeyMissing }) => isKeyMissing)
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual(['b', 'c'])
    }
    expect((await store.catalogue.search('elephant')).items.map(({ conversation }) => conversation)).toEqual([
      'd',
      'a',
    ])
    await expect(store.conversation('b').effective()).rejects.toMatchObject({
      _tag: 'DecodeFailed',
      isKeyMissing: true,
    })
    expect((await store.conversation('c').verify()).discrepancy?.kind).toBe('sealed')
    expect(store.workers()).toBeDefined()
  })

  it('is served, and ready', async () => {
    const { ask, fetch } = await serving({ store: await opened(await withLostKeys()) })
    expect(await (await fetch('/readyz')).json()).toEqual({ status: 'ready' })
    const { json } = await ask('conversations')
    expect(json['items']).toContainEqual(expect.objectContaining({ id: 'b', isKeyMissing: true }))
    expect(json['items']).toHaveLength(4)
  })

  it('is not taken for changed by verify, audit verify and doctor, which say what to do', async () => {
    const url = await withLostKeys()
    const run = (command: string) => shell(`palimpsest ${command} --store '${url}'`, temporaryFolder())
    const verified = await run('verify')
    expect(verified.stdout).toMatch(/^NOT CHECKED {2}b {2}at 0: .*restore the newest copy of the keys$/m)
    expect(verified.stdout).toMatch(/4 conversations, 2 events: 2 NOT CHECKED\n$/)
    expect(verified.code).toBe(1)
    expect((await run('verify b')).stdout).not.toContain('palimpsest verify')
    expect((await run('show b')).stderr).not.toContain('palimpsest verify')
    const audited = await run('audit verify')
    expect(audited.stdout).toMatch(/^NOT CHECKED {2}b/m)
    expect(audited.stdout).not.toMatch(/REWRITTEN|CHANGED|NEWER/)
    const listed = await run('list')
    expect(listed.stdout).toMatch(/^c\t0\t0\t\tkey missing\t/m)
    expect(listed.stderr).toContain('2 conversations with a missing key: palimpsest doctor')
    const { stdout, stderr } = await run('cost')
    expect([stdout.match(/^[ad]\t/gm)?.length, stderr.match(/^not counted: [bc]: /gm)?.length]).toEqual([
      2, 2,
    ])
    expect(right(await diagnose(url)()).find(({ check }) => check === 'keys')).toMatchObject({
      status: 'problem',
      message: expect.stringMatching(
        /keys of 2 of 4 conversations .* b, c: .* put back the newest/,
      ) as string,
    })
  })
})

it.skipIf(process.getuid?.() !== 0)(
  'keys that belong to another user are named, with their owner (skipped for users other than root)',
  async () => {
    const folder = temporaryFolder()
    chmodSync(folder, 0o755)
    mkdirSync(join(folder, 'keys'), { mode: 0o700 })
    const child = startHeard('store/children/without-rights.ts', `${folder}/keys/`, `${folder}/keys/keys.db`)
    const lines = (await ended(child)).output.split('\n')
    expect(lines[0]).toMatch(/keys belongs to user 0 with mode 700, and .* user 65534, .*: chown -R 65534 /)
    expect(lines[1]).toMatch(/keys belongs to user 0 with mode 700, .* a folder that this user may enter$/)
  },
)
