import type { RecordedTurnFact } from '../events/turn-events.ts'
import { continueColumns } from './columns.ts'
import { isMark } from './facts.ts'
import { meterMessage, newMeter } from './meter.ts'
import { pastOf } from './past.ts'
import type { ConversationTable } from './rows.ts'
import {
  type ClassifiedEvent,
  take,
  takeTurn,
  type ConversationBuffer,
  type ConversationRow,
} from './conversation-row.ts'
import { traits } from './traits.ts'
import { turnOf } from './weave.ts'

/** Conversations in an index file. Only those used in the current transaction are kept in memory, until they are written. */
export interface ConversationRows {
  readonly find: (id: string) => ConversationBuffer | undefined
  /**
   * Adds a new conversation to the index.
   *
   * @param parent conversation from which it was forked, if any
   * @param from position of the first event in the conversation's own stream
   */
  readonly begin: (id: string, parent: ConversationBuffer | undefined, from: number) => ConversationBuffer
  /** Adds the next event of a conversation. The changes are stored by `write`. */
  readonly take: (thread: ConversationBuffer, found: ClassifiedEvent) => void
  /** Adds the next event of a conversation's turns. */
  readonly takeTurn: (thread: ConversationBuffer, fact: RecordedTurnFact) => void
  /** Stops indexing a conversation and records the reason. */
  readonly damage: (thread: ConversationBuffer, problem: string) => void
  readonly write: () => void
  /** Drops the changes of a rolled-back transaction. */
  readonly forget: () => void
}

const nothingInherited = {
  has: 0,
  model: null,
  tokens: 0,
  meter: newMeter,
  calls: 0,
  replies: 0,
  messages: 0,
  errors: 0,
}

export const conversationRowsOf = (rows: ConversationTable): ConversationRows => {
  const open = new Map<string, ConversationBuffer>()
  const changed = new Set<ConversationBuffer>()

  const use = (row: ConversationRow): ConversationBuffer => {
    const thread = { row, chunks: new Map() }
    open.set(row.id, thread)
    return thread
  }
  const writeChanged = (): void => {
    for (const thread of changed) rows.write(thread)
    changed.clear()
  }

  /** Returns the traits, model, tokens and counts that a fork inherits from its ancestors. */
  const inherited = (parent: ConversationBuffer, from: number) => {
    writeChanged()
    let has: number = traits.forked
    let end = from
    for (let row: ConversationRow | undefined = parent.row; row;) {
      has |= rows.traits(row.n, end)
      end = Math.min(end, row.from)
      row = row.parent === null ? undefined : rows.byNumber(row.parent)
    }
    const past = pastOf(rows, parent)
    const { model } = parent.row
    const [tokens, meter] = [past.tokensAt(from - 1), past.meterAt(from - 1)]
    return { has, model, tokens, meter, ...past.countsThrough(from - 1) }
  }

  return {
    find: (id) => {
      const row = open.has(id) ? undefined : rows.byId(id)
      return row ? use(row) : open.get(id)
    },
    begin: (id, parent, from) => {
      const of = parent ? inherited(parent, from) : nothingInherited
      return use(rows.add({ id, parent: parent?.row.n ?? null, from, ...of }))
    },
    take: (thread, found) => {
      const { row } = thread
      const { kind, message } = found.facts
      const { tokens, meter } = row
      const turn = isMark(kind) ? turnOf(pastOf(rows, thread), row, found.facts) : undefined
      const same = { own: 0, tokens, meter }
      const after = turn ?? (message ? meterMessage(meter, tokens, message) : same)
      take(thread, found, after, (number) => {
        const [written] = rows.chunks(row, number, number)
        return written && continueColumns(written.columns, written.tools(), written.meter())
      })
      changed.add(thread)
      rows.note(row.n, found, turn)
    },
    takeTurn: (thread, fact) => {
      takeTurn(thread, fact)
      changed.add(thread)
    },
    damage: (thread, problem) => {
      thread.row = { ...thread.row, problem }
      changed.add(thread)
    },
    write: () => {
      writeChanged()
      open.clear()
    },
    forget: () => {
      open.clear()
      changed.clear()
    },
  }
}
