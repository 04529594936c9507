import { isBlock } from '../events/blocks.ts'
import { contentOf, type ConversationEvent } from '../events/events.ts'
import type { TurnFact } from '../events/turn-events.ts'

// The status of a conversation, kept event by event from its own events and those of its turns.

/**
 * Statuses of a conversation. `needs-approval`: a tool call waits for a decision; `working`: a turn is in progress or due, and something
 * was recorded in the last 15 minutes; `failed`: the last attempt of a worker failed; `parked`: workers gave up on the step; `idle`:
 * nothing of these.
 */
export const statuses = ['needs-approval', 'working', 'failed', 'parked', 'idle'] as const
export type StatusName = (typeof statuses)[number]

/**
 * Milliseconds after its last event from which a conversation no longer counts as working. Events do not say that a program crashed, or
 * that nobody wants an answer to the last message.
 */
export const workingFor = 15 * 60_000

/** Facts about the end of a conversation from which its status follows. Absent fields are false or empty. */
export interface StatusActivity {
  /** Position of the last reply that calls tools, and the ids and tools of its calls without a result. */
  readonly reply?: number
  readonly calls?: readonly (readonly [id: string, tool: string])[]
  /** Ids of the calls that wait for an approval. */
  readonly waits?: readonly string[]
  /** True if user messages do not end the wait. */
  readonly keep?: true
  /** Position of the last final reply; claims made before it are over. */
  readonly final?: number
  /** Position of the last user message or rewind; it retries what failed before it. */
  readonly since?: number
  readonly isHeld?: true
  readonly isDue?: true
  readonly hasFailed?: true
  readonly isParked?: true
}

/** Maximum number of calls of a reply that are remembered. A reply may have hundreds of thousands. */
const mostCalls = 100

/** Returns the activity after an event of the conversation. */
export const activityAfter = (before: StatusActivity, event: ConversationEvent): StatusActivity => {
  const { position } = event
  const { final, since, isHeld, calls = [], waits = [], keep, reply } = before
  const held = isHeld && { isHeld }
  if (event.type === 'Rewound') return { ...(final !== undefined && { final }), since: position, ...held }
  if (event.type !== 'MessageAppended' || event.data.role === 'system') return before
  const { role } = event.data
  const content = contentOf(event).flatMap((message) => message.content)
  const moved = { ...(final !== undefined && { final }), ...(since !== undefined && { since }) }
  if (role === 'assistant') {
    const made = content.flatMap((block) =>
      isBlock(block, 'tool_use') ? [[block.id, block.name] as const] : [],
    )
    if (made.length === 0) return { ...moved, final: position }
    return { ...moved, ...held, isDue: true, reply: position, calls: made.slice(0, mostCalls) }
  }
  const answered = new Set(
    content.flatMap((block) => (isBlock(block, 'tool_result') ? [block.tool_use_id] : [])),
  )
  const isSaid = answered.size === 0
  const base = { ...moved, ...(isSaid && { since: position }), ...held, isDue: true as const }
  if (isSaid && !keep) return base
  const left = waits.filter((id) => !answered.has(id))
  return {
    ...base,
    ...(reply !== undefined && { reply }),
    calls: calls.filter(([id]) => !answered.has(id)),
    ...(left.length > 0 && { waits: left, ...(keep && { keep }) }),
  }
}

/** Returns the activity after an event of the conversation's turns. */
export const activityAfterTurn = (before: StatusActivity, { type, data }: TurnFact): StatusActivity => {
  const { isHeld: _, isDue, hasFailed: __, isParked: ___, ...rest } = before
  const due = isDue && { isDue }
  const isOld = (position = -1): boolean => data.at < position
  switch (type) {
    case 'CallsWaiting': {
      if (data.reply !== before.reply || data.why !== 'approval') return before
      const open = new Set(before.calls?.map(([id]) => id))
      const ids = data.calls.filter((id) => open.has(id))
      const waits = [...new Set([...(before.waits ?? []), ...ids])]
      return { ...before, waits, ...(data.keep && { keep: true as const }) }
    }
    case 'CallDecided':
      return { ...before, waits: (before.waits ?? []).filter((id) => id !== data.call) }
    case 'TurnClaimed':
      return isOld(before.final) ? before : { ...rest, ...due, isHeld: true }
    case 'TurnReleased': {
      const isOver = data.reason === 'done'
      return {
        ...rest,
        ...(!isOver && due),
        ...(data.reason === 'failed' && !isOld(before.since) && { hasFailed: true }),
      }
    }
    case 'TurnParked':
      return { ...rest, ...due, ...(!isOld(before.since) && { isParked: true }) }
    case 'TurnUnparked':
    case 'TurnRequested':
      return isOld(before.final) ? before : { ...rest, ...(before.isHeld && { isHeld: true }), isDue: true }
    case 'TurnCancelled':
      return { ...rest, ...(before.isHeld && { isHeld: true }) }
    case 'TurnsBegun':
    case 'ToolStarted':
    case 'TurnsPaused':
    case 'TurnsResumed':
      return before
  }
}

/** Returns the status that follows from an activity, however long ago it was. */
export const statusOf = ({ waits = [], isParked, hasFailed, isHeld, isDue }: StatusActivity): StatusName => {
  if (waits.length > 0) return 'needs-approval'
  if (isParked) return 'parked'
  if (hasFailed) return 'failed'
  return isHeld || isDue ? 'working' : 'idle'
}

/** Returns the names of the tools whose calls wait for an approval, each once. */
export const toolsWaiting = ({ calls = [], waits = [] }: StatusActivity): readonly string[] =>
  waits.length === 0 ? [] : [...new Set(calls.flatMap(([id, tool]) => (waits.includes(id) ? [tool] : [])))]
