import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { atEnd } from './at-end.ts'

/** The Node that runs the tests. */
export const node = process.execPath

/** The path of a program, given from test/ or as a whole. */
export const program = (name: string): string => fileURLToPath(new URL(name, new URL('../', import.meta.url)))

/** An environment in which Node does not warn of what is experimental. */
export const quiet = { ...process.env, NODE_OPTIONS: '--disable-warning=ExperimentalWarning' }

/** Starts a program as a process of its own. */
export const start = (name: string, ...args: readonly string[]): ChildProcess =>
  spawn(node, [program(name), ...args], { stdio: ['ignore', 'pipe', 'inherit'], env: quiet })

/** Starts a program as a process of its own, whose warnings and errors are kept too. */
export const startHeard = (name: string, ...args: readonly string[]): ChildProcess =>
  spawn(node, [program(name), ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: quiet })

/** Ends a process when the test is over, and waits until it has ended: it may write to files that are removed then. */
export const endsWithTest = (child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void =>
  atEnd(async () => {
    child.kill(signal)
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })

/** Everything that a process prints until it ends, and how it ended. */
export const ended = (
  child: ChildProcess,
): Promise<{ readonly output: string; readonly code: number | null }> =>
  new Promise((resolve) => {
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.on('close', (code) => resolve({ output, code }))
  })

/** Runs a program in a mount namespace of its own, after a shell command that prepares it. */
export const runMounted = (prepare: string, name: string, ...args: readonly string[]): string => {
  const command = `${prepare} && exec "$0" "$@"`
  const ran = spawnSync('unshare', ['-rm', 'sh', '-c', command, node, program(name), ...args], {
    encoding: 'utf8',
    env: quiet,
  })
  if (ran.status !== 0) throw new Error(ran.stderr)
  return ran.stdout
}

/** Why mounts cannot be made here, or undefined where they can. */
export const mountProblem: string | undefined =
  spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0
    ? undefined
    : 'this user may not make mount namespaces'
