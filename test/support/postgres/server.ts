import { spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { kept } from '../kept.ts'
import {
  asServer,
  giveToServer,
  preparePrograms,
  removeFolder,
  serverFolder,
  type ServerPrograms,
} from './programs.ts'

/** A PostgreSQL server on loopback. */
export interface PostgresServer {
  readonly port: number
  readonly folder: string
  /** The URL of a store on the server, by the name of its schema. */
  readonly url: (schema?: string, parameters?: string) => string
  /** Starts it again after `end`, without a limit for its files. */
  readonly start: () => Promise<void>
  /** Ends it at once (SIGQUIT to the postmaster), or as a crash does (SIGKILL). */
  readonly end: (signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL') => Promise<void>
  /** Ends it, and removes its files. */
  readonly remove: () => Promise<void>
}

/** The role that owns everything on a server of the tests. */
export const owner = 'palimpsest'

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Fills a folder with the files of a new server: a copy of what `initdb` has made once. */
const prepareData = async (programs: ServerPrograms, folder: string): Promise<string> => {
  const data = join(folder, 'data')
  const { size, mtimeMs } = statSync(programs.postgres)
  const options = ['-U', owner, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions']
  // Files of the log that are small are copied quickly.
  options.push('--wal-segsize=1')
  const name = `${size}-${Math.floor(mtimeMs)}-${process.getuid?.()}-${options.length}`
  const template = await kept('postgres', name, (made) => {
    const [command, ...args] = asServer(programs.initdb, '-D', data, ...options)
    const ran = spawnSync(command, args, { encoding: 'utf8' })
    if (ran.status !== 0) throw new Error(`initdb: ${ran.stderr}${ran.stdout}`)
    cpSync(data, made, { recursive: true })
    removeFolder(data)
    return Promise.resolve()
  })
  cpSync(template, data, { recursive: true })
  giveToServer(data)
  return data
}

/** Starts a new server, whose files may have a limit of bytes. What it says is in its folder, in the file `log`. */
export const startPostgres = async (
  settings: readonly string[] = [],
  limit?: number,
): Promise<PostgresServer> => {
  const folder = serverFolder('palimpsest-postgres-')
  const programs = preparePrograms(folder)
  const data = await prepareData(programs, folder)
  const port = await freePort()
  const lines = [
    `port = ${port}`,
    "listen_addresses = '127.0.0.1'",
    "unix_socket_directories = ''",
    // The tests end processes, not the machine.
    'fsync = off',
    'max_connections = 200',
    'shared_buffers = 32MB',
    'max_wal_size = 1GB',
    ...settings,
  ]
  appendFileSync(join(data, 'postgresql.conf'), `${lines.join('\n')}\n`)
  return running(programs, folder, port, limit)
}

/** Starts a standby on a copy of a server that is stopped. It follows that server once it runs again. */
export const startStandby = async (
  primary: PostgresServer,
  settings: readonly string[] = [],
): Promise<PostgresServer> => {
  const folder = serverFolder('palimpsest-postgres-')
  const programs = preparePrograms(folder)
  const data = join(folder, 'data')
  cpSync(join(primary.folder, 'data'), data, { recursive: true })
  const port = await freePort()
  const lines = [
    `port = ${port}`,
    `primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=${owner} application_name=${standbyName}'`,
    // The primary may start later.
    "wal_retrieve_retry_interval = '50ms'",
    // Once it is the primary, it waits for nobody.
    "synchronous_standby_names = ''",
    ...settings,
  ]
  appendFileSync(join(data, 'postgresql.conf'), `${lines.join('\n')}\n`)
  writeFileSync(join(data, 'standby.signal'), '')
  giveToServer(data)
  return running(programs, folder, port)
}

/** The name of a standby in `synchronous_standby_names`. */
export const standbyName = 'standby'

const running = async (
  programs: ServerPrograms,
  folder: string,
  port: number,
  limit?: number,
): Promise<PostgresServer> => {
  const data = join(folder, 'data')
  const start = async (bytes?: number): Promise<void> => {
    const limited = bytes === undefined ? [] : ['prlimit', `--fsize=${bytes}`]
    for (;;) {
      const log = openSync(join(folder, 'log'), 'a')
      const [command = '', ...args] = [...limited, ...asServer(programs.postgres, '-D', data)]
      const child = spawn(command, args, { stdio: ['ignore', log, log], detached: true })
      child.unref()
      closeSync(log)
      // After a crash, the children of the former server may still be there: then it is to be started once more.
      while (child.exitCode === null && child.signalCode === null) {
        if (await answers(port)) return
        await sleep(20)
      }
      if (!/shared memory|lock file/.test(readFileSync(join(folder, 'log'), 'utf8').slice(-2_000)))
        throw new Error(readFileSync(join(folder, 'log'), 'utf8'))
      await sleep(50)
    }
  }
  const pidOf = (): number | undefined => {
    const file = join(data, 'postmaster.pid')
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0
    return pid > 0 && existsSync(`/proc/${pid}`) ? pid : undefined
  }
  const end: PostgresServer['end'] = async (signal) => {
    const pid = pidOf()
    if (pid === undefined) return
    try {
      process.kill(pid, signal)
    } catch {
      return
    }
    while (isAlive(pid)) await sleep(5)
  }
  await start(limit)
  return {
    port,
    folder,
    url: (schema = 'palimpsest', parameters = '') =>
      `postgres://${owner}@127.0.0.1:${port}/postgres?schema=${schema}${parameters}`,
    start: () => start(),
    end,
    remove: async () => {
      await end('SIGQUIT')
      removeFolder(folder)
    },
  }
}

/** A process that has ended may wait for its parent. */
const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

const answers = async (port: number): Promise<boolean> => {
  const client = new pg.Client({ host: '127.0.0.1', port, user: owner, database: 'postgres' })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}
