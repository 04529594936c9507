import type { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { decode } from '../events/codec.ts'
import type { ConversationEvent } from '../events/events.ts'
import { conversationOf, notedIn, turnedIn } from '../events/ids.ts'
import { turnCodec } from '../events/turn-events.ts'
import { textsOf } from '../projections/excerpts.ts'
import type { Checkpoint, RecordedEvent } from '../store/port.ts'
import { factsOf } from './facts.ts'
import { buildOf, creationTime } from './file.ts'
import { type ConversationTable, rowsIn } from './rows.ts'
import type { ConversationBuffer } from './conversation-row.ts'
import { type ConversationRows, conversationRowsOf } from './conversation-rows.ts'
import { titlesIn } from './titles.ts'
import { wordsIn } from './words.ts'

/** Event that identifies the store from which an index was built. */
export interface Landmark {
  readonly stream: string
  readonly revision: number
  readonly id: string
}

/** Point up to which a store is indexed. */
export interface IndexPosition {
  readonly checkpoint: Checkpoint | undefined
  /** Last indexed event. */
  readonly landmark: Landmark | undefined
}

export interface IndexFile {
  readonly rows: ConversationTable
  readonly threads: ConversationRows
  readonly reached: () => IndexPosition
  /** Id that distinguishes the file from other indexes of the same store. */
  readonly build: string
  /** Time at which the file was created, in ISO 8601. */
  readonly created: string
  /**
   * Indexes the events between two checkpoints in one transaction. Skips events that are already indexed, because another process may
   * have indexed them first.
   */
  readonly take: (
    events: readonly RecordedEvent[],
    from: Checkpoint | undefined,
    to: Checkpoint | undefined,
  ) => void
  /** Skips an unreadable event between two checkpoints. No later events of its conversation are indexed. */
  readonly pass: (unread: Unread, from: Checkpoint | undefined, to: Checkpoint) => void
}

/** An event that cannot be read, and the reason. */
export interface Unread {
  readonly stream: string
  readonly revision: number
  readonly message: string
}

export const indexFileOf = (db: DatabaseSync): IndexFile => {
  const rows = rowsIn(db)
  const threads = conversationRowsOf(rows)
  const words = wordsIn(db)
  const takeTitle = titlesIn(db)
  const sql = {
    get: db.prepare("SELECT value FROM meta WHERE key = 'reached'"),
    set: db.prepare(
      "INSERT INTO meta VALUES ('reached', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    ),
  }
  const reached = (): IndexPosition => {
    const value = sql.get.get()?.['value']
    return typeof value === 'string'
      ? (JSON.parse(value) as IndexPosition)
      : { checkpoint: undefined, landmark: undefined }
  }

  const threadOf = (recorded: RecordedEvent): ConversationBuffer | undefined => {
    const id = conversationOf(recorded.stream)
    if (id === undefined) return undefined
    const known = threads.find(id)
    if (known || recorded.type !== 'Forked' || recorded.revision > 0)
      return known ?? threads.begin(id, undefined, 0)
    const decoded = decode(recorded, { ...recorded, position: 0 })
    const from = E.isRight(decoded) && decoded.right.type === 'Forked' ? decoded.right.data.from : undefined
    const parent = from && threads.find(from.conversation)
    // The documents with inherited texts must come before the fork's own documents.
    words.write()
    if (parent && from.position <= parent.row.last) return threads.begin(id, parent, from.position + 1)
    const thread = threads.begin(id, undefined, 0)
    threads.damage(thread, 'the conversation that it was forked from could not be indexed')
    return thread
  }

  /** Indexes an event of a conversation's turns. Events that cannot be read say nothing about its status. */
  const takeTurn = (conversation: string, recorded: RecordedEvent): void => {
    const thread = threads.find(conversation)
    if (!thread || recorded.revision <= thread.row.turns) return
    const fact = turnCodec.decode(recorded, recorded)
    if (E.isRight(fact)) threads.takeTurn(thread, fact.right)
  }

  /** Indexes one event. Returns the decoded event if it was added to a conversation, otherwise undefined. */
  const takeOne = (recorded: RecordedEvent): ConversationEvent | undefined => {
    const noted = notedIn(recorded.stream)
    if (noted !== undefined) takeTitle(noted, recorded)
    const turned = turnedIn(recorded.stream)
    if (turned !== undefined) takeTurn(turned, recorded)
    const thread = threadOf(recorded)
    if (!thread || thread.row.problem !== null) return undefined
    const { from, last } = thread.row
    const { stream, revision } = recorded
    const position = from + revision
    if (position <= last) return undefined
    if (position > last + 1) {
      threads.damage(thread, `revision ${last + 1 - from} of stream ${stream} is missing`)
      return undefined
    }
    const decoded = decode(recorded, { stream, revision, position })
    if (E.isLeft(decoded)) {
      threads.damage(thread, decoded.left.message)
      return undefined
    }
    const { right: event } = decoded
    const read = E.tryCatch(() => ({ facts: factsOf(event), texts: textsOf(event) }), String)
    if (E.isLeft(read)) {
      threads.damage(thread, `revision ${revision} of stream ${stream} cannot be indexed: ${read.left}`)
      return undefined
    }
    const { facts, texts } = read.right
    threads.take(thread, { event, facts, size: Buffer.byteLength(recorded.data) })
    words.add(thread.row.n, position, texts)
    return event
  }

  const pass = ({ stream, revision, message }: Unread): void => {
    const id = conversationOf(stream)
    const thread = id === undefined ? undefined : (threads.find(id) ?? threads.begin(id, undefined, 0))
    if (thread?.row.problem === null && thread.row.from + revision > thread.row.last)
      threads.damage(thread, message)
  }

  /**
   * Changes the file in one transaction.
   *
   * @param change returns the last event indexed, if any
   */
  const transact = (
    from: Checkpoint | undefined,
    to: Checkpoint | undefined,
    change: () => Landmark | undefined,
  ): void => {
    db.exec('BEGIN IMMEDIATE')
    try {
      const landmark = change()
      threads.write()
      words.write()
      const before = reached()
      // A process that indexed none of these events does not know how far other processes have indexed.
      if (landmark || before.checkpoint === from)
        sql.set.run(JSON.stringify({ checkpoint: to, landmark: landmark ?? before.landmark }))
      db.exec('COMMIT')
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      threads.forget()
      words.forget()
      throw error
    }
  }

  return {
    rows,
    threads,
    reached,
    build: buildOf(db),
    created: creationTime(db),
    take: (events, from, to) =>
      transact(from, to, () => {
        let landmark: Landmark | undefined
        for (const event of events) {
          const { stream, revision, id } = event
          if (takeOne(event)) landmark = { stream, revision, id }
        }
        return landmark
      }),
    pass: (unread, from, to) =>
      transact(from, to, () => {
        pass(unread)
        return undefined
      }),
  }
}
