import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { inDirectory, shell } from './palimpsest.ts'

// The tables of opencode 1.18, as far as they are read.
const tables = `
  CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, version TEXT, revert TEXT,
    time_created INTEGER, time_updated INTEGER);
  CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
  CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);`

const session = (
  db: DatabaseSync,
  id: string,
  time: number,
  said: readonly (readonly [string, string])[],
) => {
  db.prepare('INSERT INTO session VALUES (?, NULL, ?, ?, ?, NULL, ?, ?)').run(
    id,
    '/home/dana',
    `About ${id}`,
    '1',
    time,
    time,
  )
  for (const [index, [role, text]] of said.entries()) {
    const message = `msg_${id}_${index}`
    const reply = { parentID: `msg_${id}_${index - 1}`, modelID: 'm', providerID: 'p', finish: 'stop' }
    const data = { role, time: { created: time + index }, ...(role === 'assistant' && reply) }
    db.prepare('INSERT INTO message VALUES (?, ?, ?, ?)').run(message, id, time + index, JSON.stringify(data))
    db.prepare('INSERT INTO part VALUES (?, ?, ?, ?)').run(
      `prt_${id}_${index}`,
      message,
      id,
      JSON.stringify({ type: 'text', text }),
    )
  }
}

const withDatabase = (use: (directory: string, db: DatabaseSync) => Promise<void>): Promise<void> =>
  inDirectory(async (directory) => {
    const folder = join(directory, '.local/share/opencode')
    await mkdir(folder, { recursive: true })
    const db = new DatabaseSync(join(folder, 'opencode.db'))
    // As the program has it open.
    db.exec(`PRAGMA journal_mode = WAL; ${tables}`)
    session(db, 'ses_1', 1_700_000_000_000, [
      ['user', 'Mend the link.'],
      ['assistant', 'Done.'],
    ])
    session(db, 'ses_2', 1_700_000_001_000, [['user', 'Now the other.']])
    await use(directory, db)
    db.close()
  })

test('import takes the sessions of opencode from its database, all or one, and what is new', () =>
  withDatabase(async (directory, db) => {
    const file = '.local/share/opencode/opencode.db'
    const one = await shell(`palimpsest import ${file}#ses_2 --json`, directory)
    expect(one.stderr).toBe('')
    expect(JSON.parse(one.stdout)).toMatchObject({
      imported: [{ format: 'opencode', conversations: [{ id: 'ses_2', events: expect.any(Number) }] }],
    })
    session(db, 'ses_3', 1_700_000_002_000, [['user', 'And this one.']])
    const all = await shell(`palimpsest import ${file} --json`, directory)
    const { imported } = JSON.parse(all.stdout) as {
      readonly imported: readonly {
        readonly conversations: readonly { readonly id: string; readonly added: number }[]
      }[]
    }
    expect(
      imported.flatMap(({ conversations }) => conversations.map(({ id, added }) => [id, added > 0])),
    ).toEqual([
      ['ses_1', true],
      ['ses_2', false],
      ['ses_3', true],
    ])
    const { stdout } = await shell('palimpsest show ses_1 --json', directory)
    expect(stdout).toContain('Mend the link.')
    expect(stdout).toContain('Done.')
  }))

test('import without a file lists them with their title, and --last imports the newest', () =>
  withDatabase(async (directory) => {
    const env = { HOME: directory, XDG_DATA_HOME: '' }
    const { stdout } = await shell('palimpsest import --format opencode', directory, env)
    expect(stdout.split('\n').map((line) => line.split('\t').slice(3))).toEqual([
      [join(directory, '.local/share/opencode/opencode.db#ses_2'), '/home/dana', 'About ses_2'],
      [join(directory, '.local/share/opencode/opencode.db#ses_1'), '/home/dana', 'About ses_1'],
      [],
    ])
    const last = await shell('palimpsest import --format opencode --last --json', directory, env)
    expect(last.stdout).toContain('ses_2')
  }))

test('import says of a database of another program, and of a session that is not there, what is wrong', () =>
  withDatabase(async (directory) => {
    const other = new DatabaseSync(join(directory, 'other.db'))
    other.exec('CREATE TABLE t (x)')
    other.close()
    await writeFile(join(directory, 'note.db'), 'no database')
    const wrong = await shell('palimpsest import other.db', directory)
    expect(wrong).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('other.db: this is a SQLite database'),
    })
    const missing = await shell('palimpsest import .local/share/opencode/opencode.db#ses_9', directory)
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no session ses_9 in it'),
    })
  }))
