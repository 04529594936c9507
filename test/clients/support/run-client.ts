import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from '../../support/at-end.ts'

/** A client's own HOME, with an empty project in it. */
export interface ClientHome {
  readonly home: string
  readonly project: string
}

/** What a client printed, and how it ended. */
export interface ClientRun {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A port on which nothing listens: what a client sends elsewhere goes nowhere. */
const nowhere = 'http://127.0.0.1:9'

/** Makes a HOME that is deleted at the end of the test, after every process that still runs in it was ended. */
export const clientHome = (): ClientHome => {
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-client-'))
  const project = join(home, 'project')
  mkdirSync(project)
  mkdirSync(join(home, 'tmp'))
  atEnd(async () => {
    for (const pid of processesIn(home)) kill(pid)
    await expectGone(home)
    rmSync(home, { recursive: true, force: true, maxRetries: 10 })
  })
  return { home, project }
}

/** Returns an environment with nothing of the user's own settings, keys and sessions, without telemetry and updates. */
export const cleanEnvironment = (home: string): NodeJS.ProcessEnv => ({
  HOME: home,
  TMPDIR: join(home, 'tmp'),
  PATH: process.env['PATH'],
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  CI: '1',
  NO_COLOR: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_ERROR_REPORTING: '1',
  DO_NOT_TRACK: '1',
  HTTP_PROXY: nowhere,
  HTTPS_PROXY: nowhere,
  NO_PROXY: '127.0.0.1,localhost',
})

/** Runs a client to its end in a clean environment. */
export const runClient = (
  command: string,
  args: readonly string[],
  { home, project }: ClientHome,
  env: Readonly<Record<string, string>> = {},
): Promise<ClientRun> => {
  const child = spawn(command, args, {
    cwd: project,
    env: { ...cleanEnvironment(home), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 10 * 60_000,
    killSignal: 'SIGKILL',
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (err += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => {
      // A daemon may hold the pipes open.
      child.stdout.destroy()
      child.stderr.destroy()
      resolve({ code, out, err })
    })
  })
}

/** Returns the processes that were started with this HOME: daemons that a client left. Only Linux says. */
const processesIn = (home: string): readonly number[] =>
  !existsSync('/proc/self/environ')
    ? []
    : readdirSync('/proc').flatMap((name) => {
        if (!/^\d+$/.test(name)) return []
        try {
          const all = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0')
          return all.includes(`HOME=${home}`) ? [Number(name)] : []
        } catch {
          // It has ended, or belongs to somebody else.
          return []
        }
      })

const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

const expectGone = async (home: string): Promise<void> => {
  for (let tries = 0; processesIn(home).length > 0 && tries < 500; tries++)
    await new Promise((resolve) => setTimeout(resolve, 20))
}

/** Returns the text of the session file in a folder of the HOME whose path contains `part`, the oldest if there are several. */
export const sessionText = ({ home }: ClientHome, folder: string, part: string): string => {
  const all = readdirSync(join(home, folder), { recursive: true, encoding: 'utf8' })
  const [file = `${part}, which is not there`] = all.filter((path) => path.includes(part)).toSorted()
  return readFileSync(join(home, folder, file), 'utf8')
}
