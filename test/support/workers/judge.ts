import type { RecordedEvent } from '../../../src/store/port.ts'

// Reads the raw log of a store, and what tools did, and says what is wrong with them. Shares no code with src: a path and an attempt are
// what docs/events.md says they are.

interface Raw {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
}

const rawOf = ({ type, data, metadata }: RecordedEvent): Raw => ({
  type,
  data: JSON.parse(data) as Raw['data'],
  metadata: JSON.parse(metadata) as Raw['metadata'],
})

/** The positions on the path right after each event. */
const pathsOf = (log: readonly Raw[]): readonly (readonly number[])[] => {
  const paths: (readonly number[])[] = []
  for (const [position, { type, data }] of log.entries())
    paths.push(
      type === 'Rewound' ? (paths[Number(data['to'])] ?? []) : [...(paths[position - 1] ?? []), position],
    )
  return paths
}

/**
 * What is wrong: a reply to nothing, or to what another one has answered; a reply to what it has not seen; no reply; attempts counted
 * wrongly; a call started twice.
 */
export interface Fault {
  readonly kind: 'doubled' | 'misplaced' | 'unanswered' | 'miscounted' | 'repeated'
  readonly text: string
}

const between = new Set(['Condensed', 'Truncated', 'Restored', 'Configured'])

const isMessage = (event: Raw | undefined, role: string): boolean =>
  event?.type === 'MessageAppended' && event.data['role'] === role

interface Origin {
  readonly context?: { readonly position: number }
}

/** A reply that calls nothing. */
const isFinal = (event: Raw): boolean =>
  isMessage(event, 'assistant') &&
  !(event.data['content'] as readonly Block[]).some(({ type }) => type === 'tool_use')

/** W1–W3: a reply comes right after what it answers, and what it was made from. What asked for an answer has one at the end. */
const wrongReplies = (conversation: string, log: readonly Raw[]): readonly Fault[] => {
  const paths = pathsOf(log)
  return log.flatMap((event, position): readonly Fault[] => {
    if (!isMessage(event, 'assistant')) return []
    const path = paths[position - 1] ?? []
    const answered = path.findLast((at) => !between.has(log[at]?.type ?? ''))
    const where = `the reply at ${position} of ${conversation}`
    if (!isMessage(log[answered ?? -1], 'user'))
      return [{ kind: 'doubled', text: `${where} answers no message` }]
    const made = (event.data['origin'] as Origin | undefined)?.context?.position ?? -1
    const unseen = path.filter((at) => at > made && !between.has(log[at]?.type ?? ''))
    const text = `${where} was made at ${made}, and has not seen ${unseen.join(', ')}`
    return unseen.length > 0 ? [{ kind: 'misplaced', text }] : []
  })
}

/** W4: what asked for an answer has one, unless somebody took it back. What was parked is not looked at. */
const unanswered = (conversation: string, log: readonly Raw[]): readonly Fault[] => {
  const last = pathsOf(log)
    .at(-1)
    ?.findLast((at) => !between.has(log[at]?.type ?? ''))
  const asks = log[last ?? -1]
  const isLeft = isMessage(asks, 'user') && asks?.metadata['answer'] !== undefined
  return isLeft && !log.slice(last).some(({ type }) => type === 'Rewound')
    ? [{ kind: 'unanswered', text: `the message at ${last} of ${conversation} has no answer` }]
    : []
}

/** W9: attempts of a step are counted up to five, and never down. */
const wrongClaims = (stream: string, events: readonly Raw[]): readonly Fault[] => {
  const highest = new Map<string, number>()
  return events.flatMap(({ type, data }) => {
    if (type === 'TurnUnparked') highest.clear()
    if (type !== 'TurnClaimed') return []
    const [step, attempt] = [String(data['step']), Number(data['attempt'])]
    const before = highest.get(step) ?? 0
    highest.set(step, attempt)
    const text = `attempt ${attempt} after ${before} at ${step} in ${stream}`
    return attempt < before || attempt > 5 ? [{ kind: 'miscounted', text }] : []
  })
}

/** W8: a call is started once. */
const startedTwice = (stream: string, events: readonly Raw[]): readonly Fault[] => {
  const starts = events.flatMap(({ type, data }) =>
    type === 'ToolStarted' ? [`${String(data['reply'])} ${String(data['call'])}`] : [],
  )
  return starts.length === new Set(starts).size
    ? []
    : [{ kind: 'repeated', text: `a call is started twice in ${stream}: ${starts.join()}` }]
}

interface Judging {
  /** Nobody works on it any more: what asked for an answer has to have one, or to be parked. */
  readonly isOver?: boolean
}

/** What is wrong with a log, if anything is. */
export const faultsIn = (
  events: readonly RecordedEvent[],
  { isOver = false }: Judging = {},
): readonly Fault[] => {
  const parked = new Set(events.flatMap(({ type, stream }) => (type === 'TurnParked' ? [stream] : [])))
  const isParked = (stream: string): boolean => parked.has(stream.replace('conversation-', 'turns-'))
  return [...Map.groupBy(events, ({ stream }) => stream)].flatMap(([stream, all]) => {
    const log = all.map(rawOf)
    if (stream.startsWith('turns-')) return [...wrongClaims(stream, log), ...startedTwice(stream, log)]
    if (!stream.startsWith('conversation-')) return []
    return [...wrongReplies(stream, log), ...(isOver && !isParked(stream) ? unanswered(stream, log) : [])]
  })
}

/** The same in words. */
export const wrongIn = (events: readonly RecordedEvent[], judging?: Judging): readonly string[] =>
  faultsIn(events, judging).map(({ text }) => text)

/** Whether workers are asked for an answer, and who has claimed the conversation, since the model has finished last. */
export interface Standing {
  readonly isAsked: boolean
  readonly holder?: string | undefined
}

/** How a conversation stands after these events of its store. */
export const standingAfter = (events: readonly RecordedEvent[], conversation: string): Standing => {
  const own = new Set([`conversation-${conversation}`, `turns-${conversation}`])
  let standing: Standing = { isAsked: false }
  for (const { type, data, metadata } of events.filter(({ stream }) => own.has(stream)).map(rawOf)) {
    if (type === 'TurnClaimed') standing = { ...standing, holder: String(data['worker']) }
    if (type === 'TurnReleased') standing = { isAsked: standing.isAsked && data['reason'] !== 'done' }
    if (isFinal({ type, data, metadata })) standing = { isAsked: false }
    if (metadata['answer'] !== undefined || type === 'TurnRequested')
      standing = { ...standing, isAsked: true }
  }
  return standing
}

interface Block {
  readonly type: string
  readonly id?: string
  readonly name?: string
  readonly tool_use_id?: string
  readonly content?: unknown
}

/**
 * What is wrong with what the model is told of calls: one that is said to be done has taken effect; of one that has, the model is told
 * that it is done, or that nobody knows; and of any but `unsafe` ones, that it is done.
 */
export const untoldIn = (
  events: readonly RecordedEvent[],
  effects: readonly { readonly call: string }[],
): readonly string[] => {
  const made = new Set(effects.map(({ call }) => call))
  const blocks = events.flatMap(({ type, data }) =>
    type === 'MessageAppended' ? (JSON.parse(data) as { readonly content: readonly Block[] }).content : [],
  )
  const results = Map.groupBy(
    blocks.filter(({ type }) => type === 'tool_result'),
    ({ tool_use_id: id }) => id,
  )
  return blocks.flatMap(({ type, id = '', name }) => {
    const told = (results.get(id) ?? []).map(({ content }) => JSON.stringify(content))
    if (type !== 'tool_use' || told.length === 0) return []
    const isDone = told.every((text) => text.includes('It is done.'))
    const isUnknown = told.every((text) => text.includes('is not known'))
    // A tool that has failed says so itself.
    const hasFailed = told.every((text) => text.includes('fetch failed'))
    if ((isDone && made.has(id)) || hasFailed) return []
    return isUnknown && name === 'unsafe'
      ? []
      : [`of the call ${id} of ${name} the model is told ${told.join()}`]
  })
}

/** W8: an `unsafe` tool takes effect once at most for a call, any other with the same key each time. */
export const wrongEffects = (
  effects: readonly {
    readonly chat: string
    readonly call: string
    readonly key: string
    readonly isUnsafe: boolean
  }[],
): readonly string[] =>
  [...Map.groupBy(effects, ({ chat, call }) => `${chat} ${call}`)].flatMap(([call, all]) => {
    const keys = new Set(all.map(({ key }) => key))
    const isTwice = all.length > 1 && all.some(({ isUnsafe }) => isUnsafe)
    return [
      ...(keys.size > 1 ? [`the call ${call} has the keys ${[...keys].join()}`] : []),
      ...(isTwice ? [`the unsafe call ${call} took effect ${all.length} times`] : []),
    ]
  })
