import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Liveness, NameRelease } from '../../../src/store/port.ts'
import { endsWithTest, start } from '../../support/node.ts'
import { endHolders, openedPostgres } from '../../support/postgres/admin.ts'
import { noPostgres, whySkipped } from '../../support/postgres/programs.ts'
import { newSchema, postgresUrl } from '../../support/postgres/shared.ts'

const livenessOf = async (url: string): Promise<Liveness> => {
  const { liveness } = await openedPostgres(url)
  if (!liveness) throw new Error('it cannot tell who lives')
  return liveness
}

const holder = async (url: string, name: string): Promise<ChildProcess> => {
  const child = start('store/postgres/children/holder.ts', url, name)
  endsWithTest(child)
  expect(await lineOf(child)).toBe('held\n')
  return child
}
const lineOf = async ({ stdout }: ChildProcess): Promise<string> => {
  const [said] = stdout ? ((await once(stdout, 'data')) as readonly Buffer[]) : []
  return String(said)
}

const inherited = async ({ inherit }: Liveness, name: string): Promise<NameRelease> => {
  for (;;) {
    const release = await inherit(name)
    if (release) return release
    await sleep(1)
  }
}

describe.skipIf(noPostgres !== undefined)(`a name that a process holds in PostgreSQL${whySkipped}`, () => {
  test('is inherited once, as soon as the process is killed; not while it is only stopped', async () => {
    const url = await postgresUrl()
    const [one, other] = [await livenessOf(url), await livenessOf(url)]
    const child = await holder(url, 'a')
    expect(await one.names()).toEqual(['a'])
    expect(await one.inherit('a')).toBeUndefined()
    child.kill('SIGSTOP')
    expect(await one.inherit('a')).toBeUndefined()
    child.kill('SIGKILL')
    const release = await inherited(one, 'a')
    expect(await other.inherit('a')).toBeUndefined()
    expect(await other.names()).toEqual(['a'])
    await release()
    expect(await other.inherit('a')).toBeUndefined()
    expect(await other.names()).toEqual([])
  })

  test('is inherited from whoever has inherited it, and is another in each store', async () => {
    const url = await postgresUrl()
    const [first, other] = [await openedPostgres(url), await livenessOf(url)]
    expect(await first.liveness?.hold('a')).toBeTypeOf('function')
    expect(await first.liveness?.hold('a')).toBeUndefined()
    expect(await other.hold('a')).toBeUndefined()
    const elsewhere = await livenessOf(await postgresUrl())
    expect(await elsewhere.hold('a')).toBeTypeOf('function')
    await first.close()()
    expect(await inherited(other, 'a')).toBeTypeOf('function')
    for (const name of ['', '../a', 'a/b', 'a\0', "a'"]) {
      expect(await other.hold(name)).toBeUndefined()
      expect(await other.inherit(name)).toBeUndefined()
    }
  })

  test('is held again after the session has ended, if nobody was faster', async () => {
    const schema = newSchema()
    const url = await postgresUrl(schema)
    const [one, other] = [await livenessOf(url), await livenessOf(url)]
    let isLost = false
    const release = await one.hold('a', () => (isLost = true))
    await endHolders(schema, 'a')
    // The first use of the session finds that it has ended.
    while ((await one.names()).length === 0) await sleep(5)
    expect(await other.inherit('a')).toBeUndefined()
    expect(isLost).toBe(false)
    await release?.()
    expect(await other.names()).toEqual([])
  })

  test('is lost if another process inherits it first, and its holder learns that', async () => {
    const schema = newSchema()
    const url = await postgresUrl(schema)
    const liveness = await livenessOf(url)
    const child = await holder(url, 'a')
    child.kill('SIGSTOP')
    await endHolders(schema, 'a')
    const release = await inherited(liveness, 'a')
    const lost = lineOf(child)
    child.kill('SIGCONT')
    expect(await lost).toBe('lost\n')
    await release()
    expect(await liveness.names()).toEqual([])
  })
})
