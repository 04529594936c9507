import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

const program = new URL('../../src/cli/main.ts', import.meta.url).pathname
const root = new URL('../..', import.meta.url).pathname

/** What a command wrote, and how it ended. */
export interface Ran {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
}

/**
 * Runs a shell command in which `palimpsest` is the command line of this checkout, `npx palimpsest` and `npm start` too, and
 * `examples/` are the shipped examples.
 */
export const shell = async (command: string, cwd: string): Promise<Ran> => {
  const env = { ...process.env, PALIMPSEST: program, NODE: process.execPath, ROOT: root, NO_COLOR: '1' }
  const functions = [
    'palimpsest() { "$NODE" "$PALIMPSEST" "$@"; }',
    'npx() { "$@"; }',
    'npm() { if [ "$1" = start ]; then shift; [ "$1" = -- ] && shift; palimpsest start "$@"; fi; }',
    // Two commands may be at it at once: the second must not follow the first one's link.
    '[ -e examples ] || ln -sn "$ROOT/examples" examples 2>/dev/null || true',
  ].join('\n')
  const child = spawn('bash', ['-c', `${functions}\n${command}`], {
    cwd,
    env,
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
