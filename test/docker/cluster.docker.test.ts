import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from 'palimpsest'
import { getContainerRuntimeClient, type StartedDockerComposeEnvironment } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { engineProblem, reason } from './engine.ts'
import { protocolAndContract, removed, serversOf } from './servers.ts'

const nodes = ['node1-1', 'node2-1', 'node3-1']
const writers = 8
const each = 100
/** How long a writer goes on trying while the cluster elects a leader, in milliseconds. */
const patience = 120_000

describe.skipIf(engineProblem !== undefined)(`a cluster of three with TLS${reason}`, () => {
  let servers: StartedDockerComposeEnvironment | undefined
  let folder = ''
  let url = ''
  beforeAll(async () => {
    servers = await serversOf('cluster')
    folder = await mkdtemp(join(tmpdir(), 'palimpsest-'))
    const authority = await servers.getContainer('node1-1').exec(['cat', '/certs/ca/ca.crt'])
    const tlsCAFile = join(folder, 'ca.crt')
    await writeFile(tlsCAFile, authority.output)
    const hosts = [2121, 2122, 2123].map((port) => `localhost:${port}`).join(',')
    url = `esdb://admin:changeit@${hosts}?tls=true&tlsCAFile=${tlsCAFile}`
    await leader()
  })
  afterAll(async () => {
    await removed(servers)
    await rm(folder, { recursive: true, force: true })
  })

  /** The name of the node that leads; waits while there is none. */
  const leader = async (): Promise<string> => {
    for (const end = Date.now() + patience; Date.now() < end; await sleep(500))
      for (const name of nodes) {
        const asked = ['curl', '--silent', '--insecure', 'https://127.0.0.1:2113/info']
        const answer = await servers
          ?.getContainer(name)
          .exec(asked)
          .catch(() => undefined)
        if (answer && /"state":\s*"leader"/i.test(answer.output)) return name
      }
    throw new Error('the cluster has no leader')
  }

  /** Ends the leader as a power cut would. */
  const killLeader = async (): Promise<string> => {
    const name = await leader()
    const { container } = await getContainerRuntimeClient()
    await container.getById(servers?.getContainer(name).getId() ?? '').kill({ signal: 'SIGKILL' })
    return name
  }

  test('does what was measured, and is a store', async () => {
    expect(await protocolAndContract(url)).toBe(0)
  })

  test(`its leader is killed while ${writers} writers append: every acknowledged event is there once`, async () => {
    const run = randomUUID()
    const acknowledged: string[] = []
    let killing: Promise<string> | undefined

    const writer = async (n: number): Promise<void> => {
      const store = await openStore(url)
      for (let m = 0; m < each; m++) {
        const id = `${run}-${m % 4}`
        const text = `w${n}-${m}`
        const { position } = await insist(() =>
          store.conversation(id).append({ role: 'user', content: text }, { commandId: text }),
        )
        acknowledged.push(`${id} ${position} ${text}`)
        if (acknowledged.length === (writers * each) / 4) killing = killLeader()
      }
      await store.close()
    }
    await Promise.all(Array.from({ length: writers }, (_, n) => writer(n)))
    const killed = await killing
    expect(nodes).toContain(killed)
    expect(await leader()).not.toBe(killed)

    const stored: string[] = []
    const store = await openStore(url)
    for (const id of [0, 1, 2, 3].map((n) => `${run}-${n}`)) {
      expect(await store.conversation(id).verify()).not.toHaveProperty('discrepancy')
      for await (const { position, type, data } of store.conversation(id).events())
        if (type === 'MessageAppended') stored.push(`${id} ${position} ${String(data.content[0]?.['text'])}`)
    }
    await store.close()
    expect(acknowledged).toHaveLength(writers * each)
    expect(stored.toSorted()).toEqual(acknowledged.toSorted())
  })
})

/** The answer to a command that is sent again, under its id, until the store can say what became of it. */
const insist = async <A>(send: () => Promise<A>): Promise<A> => {
  for (const end = Date.now() + patience; ; await sleep(200))
    try {
      return await send()
    } catch (error) {
      if (Date.now() > end) throw error
    }
}
