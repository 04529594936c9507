import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { DockerComposeEnvironment, type StartedDockerComposeEnvironment } from 'testcontainers'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The servers of a profile of docker-compose.yml, once their health checks pass. Its ports must be free. */
export const serversOf = (
  profile: 'single' | 'cluster' | 'postgres',
): Promise<StartedDockerComposeEnvironment> =>
  new DockerComposeEnvironment(root, 'docker-compose.yml')
    .withProfiles(profile)
    .withEnvironment({ PALIMPSEST_ESDB_PASSWORD: 'changeit' })
    .withStartupTimeout(5 * 60_000)
    .up()

/** Stops the servers and deletes their data. */
export const removed = async (servers: StartedDockerComposeEnvironment | undefined): Promise<void> => {
  await servers?.down({ timeout: 0, removeVolumes: true })
}

/** Runs the tests of the protocol and the contract of stores against a server, and answers with the exit code. */
export const protocolAndContract = (url: string): Promise<number | null> =>
  codeOf('test:eventstoredb', { PALIMPSEST_TEST_ESDB: url })

/** Runs a script of the package with these variables, and answers with its exit code. */
export const codeOf = async (
  script: string,
  variables: Readonly<Record<string, string>>,
): Promise<number | null> => {
  const child = spawn('npm', ['run', script], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...variables },
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return code
}
