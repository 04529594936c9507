import { spawn } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { run } from '../../src/cli/run.ts'
import { builtPackage } from '../support/bundle.ts'
import { type Call, callsIn } from './calls.ts'

/** The path of the command line's program, built as it is published: it starts in a third of the time. */
export const program = async (): Promise<string> => join(await builtPackage(), 'bin/palimpsest.js')
const root = new URL('../..', import.meta.url).pathname

/** What a command wrote, and how it ended. */
export interface Ran {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
}

/**
 * Runs a shell command in which `palimpsest` is the command line of this checkout, `npx palimpsest` and `npm start` too, `node` is the one that runs the tests, and
 * `examples/` are the shipped examples. What calls nothing but the program runs in this process, one command after another; for
 * the rest there is a real shell, and every call is a process, which runs what is built of the checkout.
 */
export const shell = async (command: string, cwd: string, env: Env = {}): Promise<Ran> => {
  const calls = callsIn(command)
  return calls ? callAll(calls, cwd, env) : processes(command, cwd, env)
}
export type Env = Readonly<Record<string, string>>

/** The same, with all that it writes in one, as it was written. */
export const printed = async (command: string, cwd: string, env: Env = {}): Promise<Ran> => {
  const calls = callsIn(command)?.map((call): Call => ({
    ...call,
    stderr: call.stderr === 'err' ? 'out' : call.stderr,
  }))
  return calls ? callAll(calls, cwd, env) : processes(`exec 2>&1\n${command}`, cwd, env)
}

const callAll = async (calls: readonly Call[], cwd: string, env: Env): Promise<Ran> => {
  const written = { out: '', err: '', nowhere: '' }
  const into = (name: keyof typeof written): Writable =>
    new Writable({
      write: (chunk: Buffer, _, done) => {
        written[name] += chunk.toString()
        done()
      },
    })
  const before = process.cwd()
  process.chdir(cwd)
  try {
    if (!existsSync('examples')) symlinkSync(join(root, 'examples'), 'examples')
    let code = 0
    for (const { args, stdout, stderr } of calls) {
      code = await run(args, {
        stdin: Readable.from([]),
        stdout: into(stdout),
        stderr: into(stderr),
        env: { ...process.env, ...env },
      })
    }
    return { stdout: written.out, stderr: written.err, code }
  } finally {
    process.chdir(before)
  }
}

const functions = [
  'palimpsest() { "$NODE" "$PALIMPSEST" "$@"; }',
  'npx() { "$@"; }',
  'node() { "$NODE" --disable-warning=ExperimentalWarning "$@"; }',
  'npm() { if [ "$1" = start ]; then shift; [ "$1" = -- ] && shift; palimpsest start "$@"; fi; }',
  '[ -e examples ] || ln -s "$ROOT/examples" examples',
].join('\n')

const processes = async (command: string, cwd: string, more: Env): Promise<Ran> => {
  const own = { PALIMPSEST: await program(), NODE: process.execPath, ROOT: root, NO_COLOR: '1' }
  const child = spawn('bash', ['-c', `${functions}\n${command}`], {
    cwd,
    env: { ...process.env, ...own, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.on('close', resolve)),
  ])
  return { stdout, stderr, code }
}

/** An empty directory for a test, removed when the test is over. */
export const inDirectory = async <A>(work: (directory: string) => Promise<A>): Promise<A> => {
  const directory = await mkdtemp(join(tmpdir(), 'palimpsest-'))
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
