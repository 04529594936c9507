import { readFileSync } from 'node:fs'
import { decode, encode, hashOf, type StoredEvent } from '../../src/events/codec.ts'
import { eventId, streamOf } from '../../src/events/ids.ts'
import { parseSession, type SessionFile } from '../../src/transfer/formats/parse-session.ts'
import { isStored, type ConversationPlan, type ImportPlan } from '../../src/transfer/formats/plan.ts'
import { type PlannedEvent, planEvents } from '../../src/transfer/formats/plan-events.ts'
import { effective } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { right } from './either.ts'

// What a store does with an import, in memory: every event goes through its stored form.

/** Conversations by id, as stored. */
export type Archive = ReadonlyMap<string, readonly StoredEvent[]>

export const logOf = (id: string, stored: readonly StoredEvent[]): Log =>
  stored.map((event, revision) =>
    right(decode(event, { stream: streamOf(id), revision, position: revision })),
  )

const grow = (
  id: string,
  stored: readonly StoredEvent[],
  planned: readonly PlannedEvent[],
): readonly StoredEvent[] => {
  const events = [...stored]
  for (const { event, commandId, time = '2026-01-01T00:00:00.000Z', workspace } of planned) {
    const last = events.at(-1)
    const prev = last ? hashOf(last) : null
    const metadata = { time, actor: { kind: 'import' }, commandId, ...(workspace && { workspace }), prev }
    events.push(right(encode(event, eventId(streamOf(id), commandId, 0), metadata)))
  }
  return events
}

export const planOf = (session: SessionFile): ImportPlan => {
  const plan = right(parseSession(session))
  if (isStored(plan)) throw new Error('the file holds stored events')
  return plan
}

/** The conversation after an import of the plan. */
export const importPlan = (
  plan: ConversationPlan,
  format: ImportPlan['format'],
  stored: readonly StoredEvent[] = [],
): readonly StoredEvent[] => grow(plan.id, stored, right(planEvents(plan, format, logOf(plan.id, stored))))

/** The archive after an import of the file. */
export const importFile = (session: SessionFile, archive: Archive = new Map()): Archive => {
  const { conversations, format } = planOf(session)
  const grown = new Map(archive)
  for (const plan of conversations) grown.set(plan.id, importPlan(plan, format, archive.get(plan.id)))
  return grown
}

/** The logs of an archive, by conversation. */
export const logsOf = (archive: Archive): ReadonlyMap<string, Log> =>
  new Map([...archive].map(([id, stored]) => [id, logOf(id, stored)]))

/** Everything that the model sees at the end of a log, without what tells where it is stored. */
export const shownIn = (log: Log): readonly unknown[] =>
  effective(log).items.map((item) =>
    item.kind === 'message'
      ? { role: item.role, content: item.content }
      : item.kind === 'summary'
        ? { summary: item.messages }
        : { truncated: item.messagesHidden },
  )

/** A file of the shipped samples. */
export const sample = (file: string): SessionFile => ({
  file,
  text: readFileSync(new URL(`../../examples/sessions/${file}`, import.meta.url), 'utf8'),
})

/** The only log of an archive. */
export const onlyLog = (archive: Archive): Log => {
  const [log, ...others] = logsOf(archive).values()
  if (!log || others.length > 0) throw new Error(`expected one conversation, got ${archive.size}`)
  return log
}

/** A text of JSON lines. */
export const jsonl = (...entries: readonly unknown[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
