import type { StartedDockerComposeEnvironment } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { engineProblem, reason } from './engine.ts'
import { codeOf, removed, serversOf } from './servers.ts'

describe.skipIf(engineProblem !== undefined)(`a PostgreSQL server${reason}`, () => {
  let servers: StartedDockerComposeEnvironment | undefined
  beforeAll(async () => {
    servers = await serversOf('postgres')
  })
  afterAll(() => removed(servers))

  test('is a store', async () => {
    const url = 'postgres://palimpsest:changeit@127.0.0.1:5432/palimpsest'
    expect(await codeOf('test:postgres', { PALIMPSEST_TEST_POSTGRES: url })).toBe(0)
  })
})
