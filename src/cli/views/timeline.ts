import {
  contentOf,
  type ConversationEvent,
  type Event,
  type EventData,
  type EventType,
  type Workspace,
} from '../../events/events.ts'
import type { RecordedTurnFact } from '../../events/turn-events.ts'
import type { NoteEntry } from '../../projections/notes.ts'
import type { TimelineEntry } from '../../projections/timeline.ts'
import { isSameWorkspace, workspaceText } from '../../projections/workspace.ts'
import { type Paint, type TextSpan, plural, rangesText, rangeText } from '../text.ts'
import { contentParts, firstLine } from './content.ts'
import { graphRows } from './graph.ts'
import { labelPart, positionPart, summaryParts, truncationParts } from './items.ts'
import { noteParts } from './notes.ts'
import { shortWorkersIn, turnFactParts } from './turn-facts.ts'

/** Glyphs of an event by type: one for an event on the path, one for an event on an abandoned branch. */
const glyphs: Readonly<Record<EventType, readonly [onPath: string, abandoned: string]>> = {
  MessageAppended: ['●', '○'],
  Condensed: ['◆', '◇'],
  Truncated: ['■', '□'],
  Restored: ['▲', '△'],
  Configured: ['▪', '▫'],
  Forked: ['▼', '▽'],
  Rewound: ['×', '×'],
  Erased: ['⌫', '⌫'],
}

export const legend: readonly string[] = [
  '● message  ◆ condensed  ■ truncated  ▲ restored',
  '▪ configured  ▼ forked  × rewound  ⌫ erased; hollow: on an abandoned branch',
]

interface TimelineView {
  readonly withTime?: boolean
  /** Notes, each shown after the event at its position. */
  readonly notes?: readonly NoteEntry[]
  /** Records of turns, each shown after the event that was the last when it was recorded. */
  readonly turns?: readonly RecordedTurnFact[]
  /** True to shorten the ids of workers in the records of turns. */
  readonly areWorkersShort?: boolean
}

type Lines = readonly (readonly TextSpan[])[]

/** Returns a function that formats the notes and records of turns at a position. */
const besideEvents = ({
  withTime = false,
  notes = [],
  turns = [],
  areWorkersShort = false,
}: TimelineView): ((position: number) => Lines) => {
  const notesAt = Map.groupBy(notes, ({ position }) => position)
  const workers = areWorkersShort ? shortWorkersIn(turns) : undefined
  const turnsAt = Map.groupBy(turns, ({ data }) => Math.max(0, data.at))
  return (position) => [
    ...(notesAt.get(position) ?? []).map(noteParts),
    ...(turnsAt.get(position) ?? []).map((fact) => turnFactParts(fact, withTime, workers)),
  ]
}

/** Returns the lines that say where the files were, by position: of each event at which they were elsewhere than before it on its path. */
const filesBeside = (entries: readonly TimelineEntry[]): ReadonlyMap<number, Lines> => {
  const known = new Map<number, Workspace | undefined>()
  const lines = new Map<number, Lines>()
  for (const { event, parent } of entries) {
    const { position, metadata } = event
    const before = known.get(parent)
    const { workspace = before } = metadata
    known.set(position, workspace)
    if (workspace && !isSameWorkspace(workspace, before))
      lines.set(position, [
        [positionPart(position), labelPart('files', 'dim'), [`at ${workspaceText(workspace)}`, 'dim']],
      ])
  }
  return lines
}

/** Formats every event as a line: position, graph, type, content. */
export const timelineLines = (entries: readonly TimelineEntry[], view: TimelineView = {}): Lines => {
  const rows = graphRows(entries, glyphOf)
  const besideAt = besideEvents(view)
  const files = filesBeside(entries)
  return entries.flatMap((entry, index) => {
    const { left = '', node = '', right = '' } = rows[index] ?? {}
    const paint = entry.onPath ? paintOf(entry.event) : 'dim'
    const line: readonly TextSpan[] = [
      ...leading(entry.event, view),
      [left, 'dim'],
      [node, paint],
      [right, 'dim'],
      [' '],
      ...words(entry),
    ]
    const { position } = entry.event
    return [line, ...(files.get(position) ?? []), ...besideAt(position)]
  })
}

/** Formats the events on the path, one line each. A line between them lists the positions that were abandoned by a rewind. */
export const pathLines = (entries: readonly TimelineEntry[], view: TimelineView = {}): Lines => {
  const besideAt = besideEvents(view)
  const files = filesBeside(entries)
  const lines: (readonly TextSpan[])[] = []
  let left: number[] = []
  const flush = (): void => {
    if (left.length > 0) lines.push([[`       ⋮ ${rangesText(left)} rewound away`, 'dim']])
    left = []
  }
  for (const entry of entries) {
    const { event, onPath } = entry
    const beside = besideAt(event.position)
    if (!onPath) {
      if (event.type !== 'Rewound') left.push(event.position)
      if (beside.length > 0) flush()
      lines.push(...beside)
      continue
    }
    flush()
    const line = [...leading(event, view), [`${glyphOf(entry)}  `, paintOf(event)] as const, ...words(entry)]
    lines.push(line, ...(files.get(event.position) ?? []), ...beside)
  }
  flush()
  return lines
}

type Placed = Event & { readonly position: number }
type Shown = Pick<TimelineEntry, 'parent' | 'onPath'> & { readonly event: Placed }

/** Formats an event as a line: position, glyph, type, content. */
export const eventParts = (event: Placed): readonly TextSpan[] => {
  const entry = entryOf(event)
  return [positionPart(event.position), [`${glyphOf(entry)}  `, paintOf(event)], ...words(entry)]
}

/** Formats a rewind that undid an event as a line, which ends with the type and the content of that event. */
export const undoParts = (rewound: Placed, undone: Placed): readonly TextSpan[] => [
  ...eventParts(rewound),
  [`  undid ${undone.position}: `],
  ...words(entryOf(undone)),
]

const entryOf = (event: Placed): Shown => ({
  event,
  parent: event.type === 'Rewound' ? event.data.to : event.position - 1,
  onPath: true,
})

const leading = (
  { position, metadata }: ConversationEvent,
  { withTime = false }: TimelineView,
): readonly TextSpan[] =>
  withTime
    ? [positionPart(position), [`${metadata.time.slice(0, 19).replace('T', ' ')}  `, 'dim']]
    : [positionPart(position)]

const glyphOf = ({ event: { type }, onPath }: Shown): string => glyphs[type][onPath ? 0 : 1]

const paintOf = (event: Event): Paint => {
  if (event.type === 'MessageAppended') return event.data.role
  return event.type === 'Rewound' ? 'warning' : 'marker'
}

const words = ({ event, onPath, parent }: Shown): readonly TextSpan[] => {
  const { type } = event
  const label = type === 'MessageAppended' ? event.data.role : type.toLowerCase()
  const parts = [labelPart(label, paintOf(event)), ...said(event, parent)]
  return onPath || type === 'Rewound' ? parts : parts.map(([text]): TextSpan => [text, 'dim'])
}

const said = (event: Event, parent: number): readonly TextSpan[] => {
  switch (event.type) {
    case 'MessageAppended':
      return contentParts(contentOf(event))
    case 'Condensed':
      return summaryParts(event.data, contentOf(event))
    case 'Truncated':
      return truncationParts(event.data)
    case 'Rewound': {
      const { to, reason } = event.data
      const where =
        to < 0 ? 'to the empty conversation' : parent === to ? `to ${to}` : `to ${to}, that is ${parent}`
      return [[where, 'warning'], ...(reason === undefined ? [] : ([[`  ${firstLine(reason)}`]] as const))]
    }
    case 'Restored':
      return [[`shows the items that ${event.data.marker} hid`, 'marker']]
    case 'Configured':
      return [[configured(event)]]
    case 'Erased':
      return [[erasedText(event.data), 'warning']]
    case 'Forked':
      return [[`from ${event.data.from.conversation} at ${event.data.from.position}`, 'marker', 'whole']]
  }
}

/** Describes what an event erased, by whom, and why. */
export const erasedText = ({
  events,
  notes,
  turns,
  inbox,
  archive,
  by,
  reason,
}: EventData['Erased']): string => {
  const of = (erased: typeof events, name: string): readonly string[] =>
    erased ? [`${name} ${erased.ranges.map(rangeText).join(', ')}`] : []
  const what = [
    ...of(events, 'events'),
    ...of(notes, 'notes'),
    ...of(turns, 'records of turns'),
    ...of(inbox, 'queued messages'),
    ...(archive ? ['the original file'] : []),
  ]
  return [
    what.join(', '),
    by === undefined ? '' : ` by ${by}`,
    reason === undefined ? '' : `: ${firstLine(reason)}`,
  ].join('')
}

const configured = ({ data }: Event<'Configured'>): string => {
  const { system, tools, model, parameters } = data
  const told = [
    ...(model === undefined ? [] : [`model ${model}`]),
    ...(system === undefined ? [] : ['system prompt']),
    ...(tools === undefined ? [] : [plural(tools.length, 'tool')]),
    ...Object.entries(parameters ?? {}).map(([name, value]) => `${name}=${JSON.stringify(value)}`),
  ]
  return told.length === 0 ? 'nothing' : told.join(', ')
}
