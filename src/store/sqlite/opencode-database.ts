import { DatabaseSync } from 'node:sqlite'

/** A session in the database of opencode. */
export interface OpencodeSession {
  readonly id: string
  /** Folder in which the program ran. */
  readonly project: string
  readonly title: string
  /** Time of the last change, in ISO 8601. */
  readonly time: string
  /** True for the session of a subagent. */
  readonly isSubagent: boolean
}

/** The sessions in a database of opencode. The program may have it open: it is only read. */
export interface OpencodeDatabase {
  /** Lists the sessions, newest first. */
  readonly sessions: () => readonly OpencodeSession[]
  /** Returns a session in the form of `opencode export`; undefined if there is none with this id. */
  readonly exported: (id: string) => string | undefined
  readonly close: () => void
}

/** Opens a database of opencode. Throws the driver's errors, also for a database of another program. */
export const openOpencodeDatabase = (path: string): OpencodeDatabase => {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  const sessions = () =>
    db
      .prepare('SELECT id, directory, title, time_updated, parent_id FROM session ORDER BY time_updated DESC')
      .all()
      .map(({ id, directory, title, time_updated: time, parent_id: parent }): OpencodeSession => ({
        id: String(id),
        project: String(directory),
        title: String(title),
        time: new Date(Number(time)).toISOString(),
        isSubagent: parent !== null,
      }))
  const exported = (id: string): string | undefined => {
    const session = db
      .prepare(
        'SELECT id, parent_id, directory, title, version, revert, time_created, time_updated FROM session WHERE id = ?',
      )
      .get(id)
    if (!session) return undefined
    const { parent_id: parentID, revert, time_created: created, time_updated: updated, ...info } = session
    const parts = db.prepare('SELECT id, data FROM part WHERE message_id = ? ORDER BY id')
    const messages = db
      .prepare('SELECT id, data FROM message WHERE session_id = ? ORDER BY id')
      .all(id)
      .map((message) => ({
        info: { id: message['id'], sessionID: id, ...fieldsIn(message['data']) },
        parts: parts.all(message['id'] ?? '').map((part) => ({
          id: part['id'],
          sessionID: id,
          messageID: message['id'],
          ...fieldsIn(part['data']),
        })),
      }))
    return JSON.stringify({
      info: {
        ...info,
        ...(parentID !== null && { parentID }),
        ...(revert !== null && { revert: fieldsIn(revert) }),
        time: { created, updated },
      },
      messages,
    })
  }
  try {
    // Of another program there are no such tables.
    db.prepare('SELECT data FROM part LIMIT 0')
    sessions()
  } catch (error) {
    db.close()
    throw error
  }
  return { sessions, exported, close: () => db.close() }
}

const fieldsIn = (json: unknown): object => JSON.parse(String(json)) as object
