import { continued } from './columns.ts'
import { isMessage } from './facts.ts'
import type { Rows } from './rows.ts'
import { type Found, take, type Taken, type Thread, type ThreadRow } from './thread.ts'
import { traits } from './traits.ts'
import { momentAt, tokensOf } from './weave.ts'

/** The conversations of a file; those used last stay in memory. */
export interface Threads {
  readonly find: (id: string) => Thread | undefined
  readonly byNumber: (n: number) => Thread | undefined
  /** @param from the position of its first event */
  readonly begin: (id: string, parent: Thread | undefined, from: number) => Thread
  /** Takes the next event of a conversation. What it changes is written by `write`. */
  readonly take: (thread: Thread, found: Found) => Taken
  /** No more of the conversation is indexed. */
  readonly damage: (thread: Thread, problem: string) => void
  readonly write: () => void
  /** Forgets what is in memory: somebody else has written, or a transaction was undone. */
  readonly forget: () => void
}

/** Events whose conversations stay in memory. */
const mostMoments = 300_000

export const threadsOf = (rows: Rows): Threads => {
  /** By their last use. */
  const kept = new Map<number, Thread>()
  const numbers = new Map<string, number>()
  const changed = new Set<Thread>()
  let moments = 0

  const drop = ({ row: { n, id }, weave }: Thread): void => {
    if (!kept.delete(n)) return
    numbers.delete(id)
    moments -= weave.moments.length
  }

  const use = (thread: Thread): Thread => {
    drop(thread)
    kept.set(thread.row.n, thread)
    numbers.set(thread.row.id, thread.row.n)
    moments += thread.weave.moments.length
    for (const oldest of kept.values()) {
      if (moments <= mostMoments || oldest === thread) break
      if (!changed.has(oldest)) drop(oldest)
    }
    return thread
  }

  /** Parents first, as forks of forks may be thousands deep. */
  const byNumber: Threads['byNumber'] = (n) => {
    const unknown: ThreadRow[] = []
    let thread: Thread | undefined
    for (let at: number | null = n; at !== null && !thread;) {
      thread = kept.get(at)
      const row: ThreadRow | undefined = thread ? undefined : rows.byNumber(at)
      if (row) unknown.push(row)
      at = row?.parent ?? null
    }
    for (const row of unknown.toReversed())
      thread = use({ row, weave: rows.weave(row, thread?.weave), chunks: new Map() })
    return thread && use(thread)
  }

  const write = (): void => {
    for (const thread of changed) rows.write(thread)
    changed.clear()
  }

  /** What a fork has of the conversations before it. */
  const inherited = (parent: Thread | undefined, from: number) => {
    write()
    let has: number = parent ? traits.forked : 0
    let [calls, messages] = [0, 0]
    let end = from
    for (let row = parent?.row; row; row = row.parent === null ? undefined : rows.byNumber(row.parent)) {
      has |= rows.traits(row.n, end)
      for (const { start, columns } of rows.chunks(row))
        for (let index = 0; index < columns.count && start + index < end; index++) {
          if (columns.isCallAt(index)) calls++
          if (isMessage(columns.kindAt(index))) messages++
        }
      end = Math.min(end, row.from)
    }
    return { has, calls, messages }
  }

  return {
    byNumber,
    find: (id) => {
      const n = numbers.get(id) ?? rows.byId(id)?.n
      return n === undefined ? undefined : byNumber(n)
    },
    begin: (id, parent, from) => {
      const weave = { offset: from, parent: parent?.weave, moments: [] }
      const tokens = tokensOf(momentAt(weave, from - 1))
      const of = parent ? inherited(parent, from) : { has: 0, calls: 0, messages: 0 }
      const row = rows.add({ id, parent: parent?.row.n ?? null, from, updated: 0, tokens, ...of })
      return use({ row, weave, chunks: new Map() })
    },
    take: (thread, found) => {
      use(thread)
      const taken = take(thread, found, (number) => {
        const [open] = rows.chunks(thread.row, number, number)
        return open && continued(open.columns, open.tools())
      })
      moments++
      changed.add(thread)
      rows.note(thread.row.n, taken)
      return taken
    },
    damage: (thread, problem) => {
      thread.row = { ...thread.row, problem }
      changed.add(thread)
    },
    write,
    forget: () => {
      kept.clear()
      numbers.clear()
      changed.clear()
      moments = 0
    },
  }
}
