import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import type { Judge, JudgeResult } from '../../investigate/index.ts'
import { timer } from '../../result/timers.ts'
import { toError } from '../../result/typed-error.ts'
import type { CliError } from '../errors.ts'

/** Maximum number of characters of a command's output that are stored as evidence. */
const mostKept = 4_000

const runFailed = (command: string, why: string, stderr: string): CliError => ({
  _tag: 'RunFailed',
  message: `${command} ${why}: run the same command line again to continue with the verdicts so far`,
  command,
  stderr,
})

/** Default time limit for a command, in seconds. */
export const defaultTimeout = 600
/**
 * Signals that also end the command. It must be ended explicitly because it has a separate process group, which Ctrl-C at a terminal
 * does not reach.
 */
const ends = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const killGroup = (child: ChildProcess): void => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The process has ended, or the system has no process groups.
    child.kill('SIGKILL')
  }
}

/** Returns the beginning of a stream's text. Reads the rest and drops it, so that the writer is not blocked. */
const beginningOf = async (stream: Readable): Promise<string> => {
  let kept = ''
  try {
    for await (const part of stream.setEncoding('utf8')) if (kept.length < mostKept) kept += String(part)
  } catch {
    // `commandJudge` has closed the stream, because the command took too long.
  }
  // The end may be in the middle of a character.
  return kept.slice(0, mostKept).toWellFormed()
}

/**
 * Makes a judge that uses the exit code of a shell command, as `git bisect run` does: 0 is good, 125 is skip, any other up to 124 is
 * bad. The command receives the state as JSON on standard input, and the conversation and position in its environment. After `timeout`
 * seconds, the command is killed with all processes still in its group. Throws `RunFailed`.
 */
export const commandJudge =
  (command: string, env: NodeJS.ProcessEnv, timeout = defaultTimeout): Judge =>
  async (state): Promise<JudgeResult> => {
    const { conversation, position } = state
    const child = spawn(command, {
      shell: true,
      env: { ...env, PALIMPSEST_CONVERSATION: conversation, PALIMPSEST_POSITION: String(position) },
      stdio: ['pipe', 'pipe', 'pipe'],
      // A separate process group, so that processes started by the shell can be killed, too: they hold the pipes open.
      detached: true,
    })
    let isLate = false
    const end = (): void => killGroup(child)
    const late = timer(timeout * 1_000, () => {
      isLate = true
      end()
      // Processes that have left the group are not killed and may hold the pipes open.
      child.stdout.destroy()
      child.stderr.destroy()
    })
    process.once('exit', end)
    for (const name of ends) process.once(name, endWith)
    function endWith(name: NodeJS.Signals): void {
      end()
      process.kill(process.pid, name)
    }
    // The command need not read all of its input.
    child.stdin.on('error', () => {})
    child.stdin.end(JSON.stringify(state))
    const [stdout, stderr, [code, signal]] = await Promise.all([
      beginningOf(child.stdout),
      beginningOf(child.stderr),
      once(child, 'close') as Promise<[number | null, string | null]>,
    ]).finally(() => {
      clearTimeout(late)
      process.off('exit', end)
      for (const name of ends) process.off(name, endWith)
    })
    if (isLate)
      throw toError(runFailed(command, `took longer than ${timeout} s (--timeout) and was killed`, stderr))
    if (code === null || code > 125) throw toError(runFailed(command, `ended with ${code ?? signal}`, stderr))
    const evidence = { exitCode: code, stdout, stderr }
    return { verdict: code === 0 ? 'good' : code === 125 ? 'skip' : 'bad', evidence }
  }
