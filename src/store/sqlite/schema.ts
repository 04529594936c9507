import type { DatabaseSync } from 'node:sqlite'
import type { StoreError } from '../errors.ts'
import { applicationId as keysId } from '../seal/key-file.ts'
import { codeOf, sqlError } from './errors.ts'

/** Application id of a Palimpsest store file: "PALI". */
export const applicationId = 0x50414c49

/**
 * Migrations from an empty file to the newest tables, one per version; a released migration is never changed. `events.position` is the
 * global order. Every write takes the lock first, so positions are committed in order: a reader that has seen one position has seen all
 * earlier ones. `findable` marks the events that `find` can look for; only these events are in the index by id. `streams.last` and
 * `hash` describe an event at or near the stream's end (see ends.ts).
 *
 * `blobs` has the content stored outside events; `blob_chunks.n` counts from 0.
 */
const migrations: readonly string[] = [
  `CREATE TABLE streams (
     id INTEGER PRIMARY KEY,
     name TEXT NOT NULL UNIQUE,
     last INTEGER,
     hash TEXT
   ) STRICT;
   CREATE TABLE events (
     position INTEGER PRIMARY KEY,
     stream INTEGER NOT NULL,
     revision INTEGER NOT NULL,
     id TEXT NOT NULL,
     type TEXT NOT NULL,
     data TEXT NOT NULL,
     metadata TEXT NOT NULL,
     findable INTEGER,
     UNIQUE (stream, revision)
   ) STRICT;
   CREATE INDEX events_by_id ON events (stream, id) WHERE findable = 1;
   -- Nearly all events are messages: counting the others counts the messages.
   CREATE INDEX events_besides_messages ON events (stream, type, revision) WHERE type <> 'MessageAppended';
   CREATE VIEW history AS
     SELECT s.name AS stream, e.revision, e.type, json_extract(e.metadata, '$.time') AS time,
            json_extract(e.data, '$.role') AS role, e.data, e.metadata, e.id, e.position
     FROM events e JOIN streams s ON s.id = e.stream ORDER BY e.position;`,
  `CREATE TABLE blobs (
     sha256 TEXT PRIMARY KEY,
     bytes INTEGER NOT NULL,
     time TEXT NOT NULL
   ) STRICT;
   CREATE TABLE blob_chunks (
     sha256 TEXT NOT NULL,
     n INTEGER NOT NULL,
     chunk BLOB NOT NULL,
     PRIMARY KEY (sha256, n)
   ) STRICT, WITHOUT ROWID;`,
]

/** Version of the newest tables. */
export const tablesVersion = migrations.length

/**
 * Version of a file in which removed content is never left legible: a file that was begun by a version that overwrites what it frees
 * (`secure_delete`), or was rewritten since. It has the tables of version 2; 0.1.0, which does not overwrite what it frees, refuses it.
 */
export const currentVersion = 3

/** Queries for the additions of each version. A query can be prepared only on a file that has the tables and the index that it uses. */
const shapes: readonly string[] = [
  `SELECT position, stream, revision, e.id, type, data, metadata, findable, s.id, name, last, hash
   FROM events e INDEXED BY sqlite_autoindex_events_1, streams s WHERE stream = s.id AND revision = 0`,
  `SELECT b.sha256, bytes, time, n, chunk FROM blobs b, blob_chunks`,
]

const pragma = (db: DatabaseSync, name: string): number => {
  const value: unknown = Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  return typeof value === 'number' ? value : 0
}

/** Version of the schema (0 for an empty file), or the reason why the file cannot be a store. */
export type Version = number | 'foreign' | 'keys' | 'misshapen'

export const versionOf = (db: DatabaseSync): Version => {
  const isEmpty = pragma(db, 'schema_version') === 0
  const id = pragma(db, 'application_id')
  if (id === keysId) return 'keys'
  if (id !== applicationId) return isEmpty ? 0 : 'foreign'
  const version = pragma(db, 'user_version')
  if (version === 0 && isEmpty) return 0
  if (version > currentVersion) return version
  return version > 0 && shapes.slice(0, version).every((query) => isTaken(db, query)) ? version : 'misshapen'
}

const isTaken = (db: DatabaseSync, query: string): boolean => {
  try {
    db.prepare(query)
    return true
  } catch (error) {
    if (codeOf(error) === sqlError) return false
    throw error
  }
}

/**
 * Returns the error for a file whose schema version cannot be used; undefined if the file can be used, after migration if necessary.
 */
export const unusable = (store: string, version: Version): StoreError | undefined => {
  if (version === 'foreign') return corrupt(store, 'is an SQLite database of another program: check the path')
  if (version === 'keys')
    return corrupt(
      store,
      'has the keys of a sealed store: name it in the URL of that store, like sqlite:palimpsest.db?seal=keys.db',
    )
  if (version === 'misshapen')
    return corrupt(
      store,
      'is marked as a Palimpsest store, but its tables match no release: if a development version before 0.1.0 wrote it, export its conversations with that version and import them here; otherwise check the path, or restore a backup',
    )
  if (version <= currentVersion) return undefined
  const message = `${store} has schema version ${version}, but this version of palimpsest supports only up to ${currentVersion}: upgrade palimpsest`
  return { _tag: 'StoreTooNew', message, store }
}

const corrupt = (store: string, problem: string): StoreError => ({
  _tag: 'StoreCorrupt',
  message: `${store} ${problem}`,
  store,
})

/**
 * Creates or migrates the tables in one transaction; several processes may do so at once. A file that exists becomes one of the current
 * version only once it is rewritten (rewrite.ts).
 */
export const migrate = (db: DatabaseSync, from: Version): void => {
  if (typeof from === 'number' && from >= tablesVersion) return
  db.exec('BEGIN IMMEDIATE')
  try {
    const version = versionOf(db)
    // Another process may have migrated the file in the meantime.
    if (typeof version === 'number' && version < tablesVersion) {
      for (const step of migrations.slice(version)) db.exec(step)
      const reached = version === 0 ? currentVersion : tablesVersion
      db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${reached}`)
    }
    db.exec('COMMIT')
  } catch (error) {
    // On some errors, such as a full disk, SQLite has rolled back already.
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}
