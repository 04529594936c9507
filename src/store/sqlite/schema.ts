import type { DatabaseSync } from 'node:sqlite'

/** Marks a file as a Palimpsest store: "PALI". */
export const applicationId = 0x50414c49

/**
 * The steps from an empty file to the newest schema, one version each; a step that was released is never changed.
 *
 * `events.position` is the global order. As every write takes the lock first, positions are committed in order: a reader that
 * has seen one has seen all before it. `findable` marks events that `find` is asked for: only they are in an index by id.
 * `streams.last` and `hash` are those of an event at or near the stream's end (see the writer).
 *
 * `blobs` is the content that stands outside events; `blob_chunks.n` counts from 0.
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

export const currentVersion = migrations.length

const pragma = (db: DatabaseSync, name: string): number => {
  const value: unknown = Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  return typeof value === 'number' ? value : 0
}

/** What kind of file it is: its schema version, or why it is none of ours. 0 is an empty file. */
export const versionOf = (db: DatabaseSync): number | 'foreign' => {
  const isOurs = pragma(db, 'application_id') === applicationId
  if (isOurs) return pragma(db, 'user_version')
  return pragma(db, 'schema_version') === 0 ? 0 : 'foreign'
}

/** Brings the schema to the newest version, in one transaction; several processes may do so at once. */
export const migrate = (db: DatabaseSync): void => {
  db.exec('BEGIN IMMEDIATE')
  try {
    const version = versionOf(db)
    for (const step of version === 'foreign' ? [] : migrations.slice(version)) db.exec(step)
    db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${currentVersion}; COMMIT`)
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}
