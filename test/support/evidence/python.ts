import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const script = fileURLToPath(new URL('../../../verifier/verify.py', import.meta.url))

/** The system's own Python, if there is one that the verifier runs on. */
export const python = ['/usr/bin/python3', 'python3'].find(
  (program) =>
    spawnSync(program, ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))'], { timeout: 30_000 })
      .status === 0,
)

/** Behind the title of what is not run where there is none. */
export const onlyPython = python === undefined ? ' (skipped: there is no Python 3.8 here)' : ''

/** Runs a program of Python, isolated from what is installed; what it writes. */
export const runPython = (source: string, ...args: readonly string[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-python-'))
  try {
    const file = join(folder, 'program.py')
    writeFileSync(file, source)
    return spawnSync(python as string, ['-I', file, ...args], {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      timeout: 170_000,
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** What the verifier says of each folder: the lines after its name; and its exit code. */
export const judged = (folders: readonly string[], key?: string) => {
  const args = ['-I', '-B', script, ...folders, ...(key === undefined ? [] : ['--key', key])]
  const { status, stdout, stderr } = spawnSync(python as string, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    timeout: 170_000,
  })
  if (stderr !== '') throw new Error(stderr)
  const said = new Map<string, string[]>()
  let lines: string[] = []
  for (const line of stdout.split('\n').slice(0, -1))
    if (line.startsWith('  ')) lines.push(line.slice(2))
    else said.set(line, (lines = []))
  return { status, said }
}
