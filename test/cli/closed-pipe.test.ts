import { spawn } from 'node:child_process'
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { some } from '../support/runs.ts'
import { inDirectory, program, shell } from './palimpsest.ts'

/** Runs the program with its output in a pipe that nobody reads. */
const unread = async (cwd: string, args: readonly string[]) => {
  const child = spawn(process.execPath, [await program(), ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  const code = new Promise<number | null>((resolve) => child.on('close', resolve))
  const stderr = await text(child.stderr)
  return { code: await code, stderr }
}

/** Changes a store behind the program's back. */
const sql = (file: string, statement: string): void => {
  const database = new DatabaseSync(file)
  database.exec(statement)
  database.close()
}

const chat = 'hours-invoice'
/** A store of which all is well, a copy that was changed after it was sealed, one of another program, a bundle, and agents. */
const setUp = async (cwd: string): Promise<void> => {
  const { code } = await shell(
    [
      'set -e',
      'palimpsest import examples/sessions/receipts.jsonl',
      'palimpsest audit init',
      'palimpsest audit seal',
      'palimpsest backup changed.db',
      `palimpsest audit export ${chat} --out bundle`,
    ].join('\n'),
    cwd,
  )
  expect(code).toBe(0)
  const first = `stream = (SELECT id FROM streams WHERE name = 'conversation-${chat}') AND revision = 0`
  sql(join(cwd, 'changed.db'), `UPDATE events SET data = replace(data, 'invoice', 'receipt') WHERE ${first}`)
  sql(join(cwd, 'other.db'), 'CREATE TABLE other (id INTEGER)')
  await appendFile(join(cwd, 'bundle/events.txt'), 'more\n')
  await writeFile(join(cwd, 'other.mjs'), `export default () => ({ model: 'other', system: 'Be brief.' })`)
}

const changed = '--store sqlite:changed.db'
const verdicts: readonly (readonly [command: string, code: number])[] = [
  ['verify', 0],
  [`verify ${changed}`, 1],
  [`verify --json ${changed}`, 1],
  [`verify ${chat} --receipts ${changed}`, 1],
  ['doctor', 0],
  ['doctor --store sqlite:other.db', 1],
  ['audit verify', 0],
  [`audit verify ${changed}`, 1],
  ['audit verify bundle', 1],
  ['audit seal --anchor git:none', 1],
  [`bisect ${chat} --good 0 --bad 9 --run`, 1],
  [`replay ${chat} --agent other.mjs`, 1],
  [`request ${chat} --call 1`, 0],
  [`request ${chat} --call 1 ${changed}`, 1],
  ['copy --from sqlite:palimpsest.db --to sqlite:copied.db', 0],
  ['copy --from sqlite:changed.db --to sqlite:copied-too.db', 1],
]

test('what checks something ends with its verdict, whether anybody reads it', () =>
  inDirectory(async (cwd) => {
    await setUp(cwd)
    const found = []
    const expected = some(verdicts)
    for (const [command] of expected) {
      // What is skipped everywhere has no result.
      const args = [...command.split(' '), ...(command.endsWith('--run') ? ['exit 125'] : [])]
      const { code, stderr } = await unread(cwd, args)
      expect({ command, stderr }).not.toMatchObject({ stderr: expect.stringMatching(/EPIPE|bug/) })
      found.push([command, code])
    }
    expect(found).toEqual(expected)
  }))

test('what changes something is finished, whether anybody reads what it says', () =>
  inDirectory(async (cwd) => {
    await shell('palimpsest append a --role user --text Hello', cwd)
    const sessions = ['pi.jsonl', 'roo.json'].map((name) => join('examples/sessions', name))
    expect(await unread(cwd, ['import', ...sessions])).toEqual({ code: 0, stderr: '' })
    const { stdout } = await shell('palimpsest list', cwd)
    expect(stdout.trim().split('\n')).toHaveLength(3)
    expect(await unread(cwd, ['import', sessions[0] ?? '', 'gone.jsonl'])).toMatchObject({ code: 1 })
  }))

test('what only shows something ends quietly, with code 0', () =>
  inDirectory(async (cwd) => {
    await shell('palimpsest import examples/sessions/receipts.jsonl', cwd)
    const shows = [
      `export ${chat}`,
      `export ${chat} --format markdown`,
      `log ${chat} --all`,
      'list',
      '--help',
    ]
    for (const command of shows)
      expect({ command, ...(await unread(cwd, command.split(' '))) }).toEqual({
        command,
        code: 0,
        stderr: '',
      })
    const first = await shell(`palimpsest log hours-invoice-o --all | head -1; echo "\${PIPESTATUS[0]}"`, cwd)
    expect(first).toMatchObject({ stdout: expect.stringMatching(/^.+\n0\n$/), stderr: '' })
  }))

test('workers that nobody watches end as when they are told to', () =>
  inDirectory(async (cwd) => {
    await writeFile(join(cwd, 'agent.mjs'), 'export default () => ({})')
    expect(await unread(cwd, ['work', 'agent.mjs', '--json'])).toEqual({ code: 0, stderr: '' })
  }))
