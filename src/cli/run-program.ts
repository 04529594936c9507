import { spawn, type StdioOptions } from 'node:child_process'
import { constants } from 'node:os'

interface ProgramOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdio: StdioOptions
}

/**
 * Runs a program to its end, and returns its exit code; undefined if there is no such program. If a signal ended it, the code is 128 and
 * the number of the signal, as in a shell. Signals to this process are passed on, except for those of a terminal's keys, which the
 * terminal also sends to the program.
 */
export const runProgram = (
  program: string,
  args: readonly string[],
  { cwd, env, stdio }: ProgramOptions,
): Promise<number | undefined> => {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const child = spawn(program, args, { cwd, env: { ...env }, stdio })
  const isOnTerminal = process.stdin.isTTY
  const pass = (signal: NodeJS.Signals): void => {
    if (!isOnTerminal || (signal !== 'SIGINT' && signal !== 'SIGQUIT')) child.kill(signal)
  }
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const
  for (const signal of signals) process.on(signal, pass)
  child.once('error', (error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? resolve(undefined) : reject(error),
  )
  child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
  return promise.finally(() => {
    for (const signal of signals) process.off(signal, pass)
  })
}
