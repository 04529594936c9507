import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Runs a script in a new process of this Node; returns the JSON that it prints. Rejects if it fails or prints none. */
export const inNewProcess = async (
  script: URL,
  args: readonly string[],
  nodeOptions: readonly string[] = [],
): Promise<unknown> => {
  const { stdout } = await run(process.execPath, [...nodeOptions, script.pathname, ...args])
  return JSON.parse(stdout)
}

/**
 * The environment without the Node that the project's own dependencies bring: what npm compiles a native peer for, and what
 * that peer then runs under.
 */
export const systemEnvironment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter),
})

/** The Node that `systemEnvironment` has, this one if it has none. */
export const systemNode = (): string =>
  (systemEnvironment()['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .find((file) => existsSync(file)) ?? process.execPath

/** A program in a process of its own that answers what it is asked. */
export interface Answering {
  /** Sends a request, resolves with the answer to it. Rejects if the process has ended or fails. */
  readonly ask: (request: unknown) => Promise<unknown>
  readonly close: () => Promise<void>
}

/** Starts a script that answers, under this Node or the system's, with these variables in its environment. */
export const answering = (
  script: URL,
  args: readonly string[],
  node: 'own' | 'system',
  variables: NodeJS.ProcessEnv = {},
): Answering => {
  const child = fork(script.pathname, args, {
    ...(node === 'system' && { execPath: systemNode() }),
    env: { ...(node === 'system' ? systemEnvironment() : process.env), ...variables },
    execArgv: [],
    silent: true,
  })
  let complaint = ''
  // A pipe that nobody reads would fill up and stop a program that prints.
  child.stdout?.resume()
  child.stderr?.on('data', (text: Buffer) => (complaint += text.toString()))
  return {
    ask: async (request) => {
      if (child.exitCode !== null) throw ended(complaint)
      const answered = new AbortController()
      const { signal } = answered
      const gone = once(child, 'exit', { signal }).then(() => {
        throw ended(complaint)
      })
      const answer = once(child, 'message', { signal }).then(([message]: unknown[]) => message)
      child.send(request as object)
      try {
        return await Promise.race([answer, gone])
      } finally {
        answered.abort()
        await Promise.allSettled([answer, gone])
      }
    },
    close: () => end(child),
  }
}

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill()
  await exited
}

const ended = (complaint: string): Error => {
  const reason =
    complaint.split('\n').find((line) => /^\w+( \[\w+\])?: /.test(line)) ?? 'it ended without a word'
  return new Error(reason.trim())
}
