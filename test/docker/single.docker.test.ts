import type { StartedDockerComposeEnvironment } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { engineProblem, reason } from './engine.ts'
import { protocolAndContract, removed, serversOf } from './servers.ts'

describe.skipIf(engineProblem !== undefined)(`a single node${reason}`, () => {
  let servers: StartedDockerComposeEnvironment | undefined
  beforeAll(async () => {
    servers = await serversOf('single')
  })
  afterAll(() => removed(servers))

  test('does what was measured, and is a store', async () => {
    expect(await protocolAndContract('esdb://127.0.0.1:2113?tls=false')).toBe(0)
  })
})
