import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import type { Judge, Judged } from '../../investigate/index.ts'
import { toError } from '../../result/typed.ts'
import type { Failure } from '../errors.ts'

/** Of what a command prints, so many characters are kept as evidence. */
const mostKept = 4_000

const runFailed = (command: string, why: string, stderr: string): Failure => ({
  _tag: 'RunFailed',
  message: `${command} ${why}: the verdicts so far are kept, and the same command line continues`,
  command,
  stderr,
})

/** How a text begins; the rest is read, so that whoever writes it is not held up, and forgotten. */
const beginningOf = async (stream: Readable): Promise<string> => {
  let kept = ''
  for await (const part of stream.setEncoding('utf8')) if (kept.length < mostKept) kept += String(part)
  // The end may be in the middle of a character.
  return kept.slice(0, mostKept).toWellFormed()
}

/**
 * Judges by the exit code of a shell command: 0 good, 125 skip, others up to 124 bad, as for `git bisect run`. It gets the state as JSON on
 * standard input, and its place in the environment. Throws `RunFailed`.
 */
export const commandJudge =
  (command: string, env: NodeJS.ProcessEnv): Judge =>
  async (state): Promise<Judged> => {
    const { conversation, position } = state
    const child = spawn(command, {
      shell: true,
      env: { ...env, PALIMPSEST_CONVERSATION: conversation, PALIMPSEST_POSITION: String(position) },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    // A command need not read all of it.
    child.stdin.on('error', () => {})
    child.stdin.end(JSON.stringify(state))
    const [stdout, stderr, [code, signal]] = await Promise.all([
      beginningOf(child.stdout),
      beginningOf(child.stderr),
      once(child, 'close') as Promise<[number | null, string | null]>,
    ])
    if (code === null || code > 125) throw toError(runFailed(command, `ended with ${code ?? signal}`, stderr))
    const evidence = { exitCode: code, stdout, stderr }
    return { verdict: code === 0 ? 'good' : code === 125 ? 'skip' : 'bad', evidence }
  }
