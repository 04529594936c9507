import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inDirectory, shell } from './palimpsest.ts'

const python = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'
const isThere = spawnSync('python3', ['-c', 'import pty']).status === 0

/** What a command prints on a terminal of which the system does not know the size. */
const onTerminal = (directory: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string => {
  const { COLUMNS: _, ...own } = process.env
  const program = [process.execPath, join(import.meta.dirname, '../../bin/palimpsest.js'), ...args]
  const ran = spawnSync('python3', ['-c', python, ...program], {
    cwd: directory,
    env: { ...own, NO_COLOR: '1', ...env },
    encoding: 'utf8',
  })
  expect(ran).toMatchObject({ status: 0 })
  return ran.stdout.replaceAll('\r', '')
}

test.skipIf(!isThere)('on a terminal without a size nothing is cut, and COLUMNS gives it one', () =>
  inDirectory(async (directory) => {
    const token = onTerminal(directory, ['token', 'create', 'ann', '--file', 'tokens.json'])
    expect(token).toMatch(/^pal_[\w-]{20,}$/m)
    expect(
      onTerminal(directory, ['token', 'create', 'bob', '--file', 'tokens.json'], { COLUMNS: '40' }),
    ).toMatch(/^pal_[\w-]{20,}$/m)
    const said = 'word '.repeat(60).trim()
    await shell(`palimpsest append c --role user --text '${said}'`, directory)
    expect(onTerminal(directory, ['show', 'c'])).toContain(said)
    const narrow = onTerminal(directory, ['show', 'c'], { COLUMNS: '50' }).split('\n')
    expect(narrow.find((line) => line.includes('word'))?.length).toBeLessThanOrEqual(50)
  }),
)
