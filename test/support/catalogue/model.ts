import type { OutlineColumns } from '../../../src/core.ts'
import { contentOf, type ConversationEvent } from '../../../src/events/events.ts'
import { retriesIn } from '../../../src/projections/retries.ts'
import { textsOf } from '../../../src/projections/excerpts.ts'
import { fold } from '../../../src/projections/layout.ts'
import { type Log, path } from '../../../src/projections/path.ts'
import { full } from '../../../src/projections/full.ts'

// What the catalogue says, by the plain fold of the whole log at each position.

const kindOf = (event: ConversationEvent): string => {
  const { type } = event
  if (type !== 'MessageAppended')
    return {
      Condensed: 'C',
      Truncated: 'T',
      Rewound: 'W',
      Restored: 'R',
      Configured: 'K',
      Forked: '-',
      Erased: 'E',
    }[type]
  const { role, content } = event.data
  const has = (wanted: string): boolean => content.some((block) => block.type === wanted)
  if (role === 'system') return 's'
  if (role === 'user') return has('tool_result') ? 'r' : 'u'
  return has('tool_use') ? 'c' : 'a'
}

const hasFailure = ({ type, data }: ConversationEvent): boolean => {
  if (type === 'Truncated') return data.policy?.failed !== undefined
  if (type !== 'MessageAppended' && type !== 'Condensed') return false
  const { failed, condenseFailed } = data.origin ?? {}
  const isRetried = Array.isArray(failed) && failed.length > 0
  const content = type === 'MessageAppended' ? data.content : []
  return (
    isRetried ||
    condenseFailed !== undefined ||
    content.some((block) => block.type === 'tool_result' && block['is_error'] === true)
  )
}

/** The outline of a log, without the tokens. */
export const outlineBy = (log: Log): Omit<OutlineColumns, 'tokens'> => ({
  from: 0,
  to: log.length - 1,
  kinds: log.map(kindOf).join(''),
  sizes: log.map(({ data }) => Buffer.byteLength(JSON.stringify(data))),
  times: log.map(({ metadata }) => Date.parse(metadata.time)),
  markers: log.flatMap((event) => {
    if (event.type !== 'Condensed' && event.type !== 'Truncated') return []
    const { position, data } = event
    const { covers, messagesHidden: hidden, tokens } = data
    const kind = event.type === 'Condensed' ? ('condensed' as const) : ('truncated' as const)
    return [
      { position, kind, ...covers, hidden, ...tokens, ...('method' in data && { method: data.method }) },
    ]
  }),
  rewinds: log.flatMap(({ type, position, data }) => (type === 'Rewound' ? [{ position, to: data.to }] : [])),
  restores: log.flatMap(({ type, position, data }) =>
    type === 'Restored' ? [{ position, marker: data.marker }] : [],
  ),
  calls: log.flatMap(({ type, position, data }) =>
    type === 'MessageAppended' && data.origin?.context ? [position] : [],
  ),
  failed: log.flatMap((event) => (hasFailure(event) ? [event.position] : [])),
  retries: retriesIn(log),
})

/** The events that a marker hides at all levels, by a fold up to it; undefined if it hides nothing. */
export const hiddenBy = (log: Log, marker: number): readonly ConversationEvent[] | undefined => {
  const { replaced } = fold(log, marker)
  if (!replaced.has(marker)) return undefined
  const hidden: ConversationEvent[] = []
  const open = [...(replaced.get(marker) ?? [])]
  for (let slot = open.pop(); slot; slot = open.pop()) {
    const event = log[slot.position]
    if (event) hidden.push(event)
    if (slot.marker) open.push(...(replaced.get(slot.position) ?? []))
  }
  return hidden
}

/** How often each is there. */
export const counted = (names: readonly string[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

export const kindsOf = (events: readonly ConversationEvent[]): Readonly<Record<string, number>> =>
  counted(events.map(kindOf))

export const toolsOf = (events: readonly ConversationEvent[]): Readonly<Record<string, number>> =>
  counted(
    events
      .filter(({ type }) => type === 'MessageAppended')
      .flatMap((event) => contentOf(event))
      .filter(({ role }) => role === 'assistant')
      .flatMap(({ content }) => content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : []))),
  )

/** What became of an entry, seen from a position, as `full` says. */
const stateBy = (log: Log, entry: number, at: number) => {
  if (log[entry]?.type === 'Configured') return promptStateBy(log, entry, at)
  const found = full(log, { at, abandoned: true }).find(({ position }) => position === entry)
  if (!found) return { state: 'hidden', by: entry }
  const { status, by } = found
  if (status === 'active') return { state: 'shown' }
  return { state: status === 'abandoned' ? 'abandoned' : 'hidden', by }
}

/** What became of a system prompt, by the path at each position. */
const promptStateBy = (log: Log, entry: number, at: number) => {
  const isOn = (end: number): boolean => path(log, end).includes(entry)
  if (!isOn(at)) {
    const ends = Array.from({ length: at - entry }, (_, index) => entry + 1 + index)
    return { state: 'abandoned', by: ends.findLast((end) => isOn(end - 1) && !isOn(end)) }
  }
  const by = path(log, at).find((position) => position > entry && log[position]?.type === 'Configured')
  return by === undefined ? { state: 'shown' } : { state: 'hidden', by }
}

/** The positions at which a text is found, the newest first, with their states: by a scan of all texts. */
export const foundBy = (log: Log, wanted: string) =>
  log
    .filter((event) => textsOf(event).some((text) => slowly(text).includes(slowly(wanted))))
    .map(({ position }) => {
      const reply = log.find(
        ({ type, position: later, data }) =>
          later > position && type === 'MessageAppended' && data.role === 'assistant',
      )
      const then = reply ? reply.position - 1 : log.length - 1
      return { position, now: stateBy(log, position, log.length - 1), then: stateBy(log, position, then) }
    })
    .toReversed()

/** Character by character. */
const slowly = (text: string): string =>
  Array.from(text, (one) => {
    const lower = one.toLowerCase()
    return lower.length > one.length ? one : lower === 'ς' ? 'σ' : lower
  }).join('')
