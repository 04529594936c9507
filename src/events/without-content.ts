import type { Block } from './blocks.ts'
import type { Configuration, EventData, Message, Origin } from './event-types.ts'
import { type Fields, isFields } from './json.ts'
import type { NewMessage } from './new-message.ts'

// What is left of an event without its content: everything that a history and its requests need to stay valid. All places of an event
// in which text can stand are in this file.

/** Returns the data of an event without its content. */
type ContentRemover<D> = (data: D, mark: string) => D

/**
 * Content removers of the events of conversations. They keep roles, the ids of calls and messages, the names of tools, the slices that
 * markers cover, the model and its usage; they replace required text with a mark, and drop everything else. Applied again, a remover
 * changes nothing.
 */
const removers: { readonly [T in keyof EventData]: ContentRemover<EventData[T]> } = {
  MessageAppended: ({ role, content, messageId, origin }, mark) => ({
    role,
    content: blocksWithout(content, mark),
    ...(messageId !== undefined && { messageId }),
    ...(origin && { origin: originWithout(origin) }),
  }),
  Condensed: ({ covers, messagesHidden, tokens, container, view, summary, method, origin }, mark) => ({
    covers,
    messagesHidden,
    tokens,
    ...(container && { container }),
    ...(view && { view }),
    summary: summary.map(({ role }): Message => ({ role, content: [{ type: 'text', text: mark }] })),
    method,
    ...(origin && { origin: originWithout(origin) }),
  }),
  Truncated: ({ covers, messagesHidden, tokens, container, policy, view, reason }, mark) => ({
    covers,
    messagesHidden,
    tokens,
    ...(container && { container }),
    ...(policy && { policy }),
    ...(view && { view }),
    ...(reason !== undefined && { reason: mark }),
  }),
  Restored: ({ marker, view }) => ({ marker, ...(view && { view }) }),
  Rewound: ({ to, reason }, mark) => ({ to, ...(reason !== undefined && { reason: mark }) }),
  Configured: ({ system, tools, model }, mark) => ({
    ...(system !== undefined && { system: mark }),
    ...(tools && { tools: tools.map((tool) => toolWithout(tool, mark)) }),
    ...(model !== undefined && { model }),
  }),
  Forked: ({ from }) => ({ from }),
  Erased: ({ reason, ...data }, mark) => ({ ...data, ...(reason !== undefined && { reason: mark }) }),
}

const withoutReason = ({ reason: _reason, ...data }: Fields): Fields => data

/** Content removers of the events of notes, inboxes, turns and archives. Events of other types have no content. */
const sideRemovers: Readonly<Record<string, ContentRemover<Fields>>> = {
  Noted: ({ kind, at }) => ({ kind, at }),
  Linked: ({ ref, ...data }, mark) => ({ ...data, ...(ref !== undefined && { ref: mark }) }),
  Queued: ({ messages, at }, mark) => ({
    messages: (messages as readonly NewMessage[]).map(({ role, content, messageId }) => ({
      role,
      content: typeof content === 'string' ? mark : blocksWithout(content, mark),
      ...(messageId !== undefined && { messageId }),
    })),
    at,
  }),
  CallsWaiting: ({ inputs: _inputs, withdrawn, ...data }) => ({
    ...data,
    ...(isFields(withdrawn) && { withdrawn: { by: withdrawn['by'] } }),
  }),
  CallDecided: ({ note: _note, input: _input, ...data }) => withoutReason(data),
  TurnReleased: ({ error: _error, ...data }) => data,
  TurnParked: (data) => ({ ...data, errors: [] }),
  TurnCancelled: withoutReason,
  TurnUnparked: withoutReason,
  FileArchived: ({ format, from, bytes }) => ({ format, from, bytes }),
  TurnsPaused: withoutReason,
  TurnsResumed: withoutReason,
}

/** Returns the data of an event of a conversation without its content. */
export const withoutContent = <T extends keyof EventData>(
  type: T,
  data: EventData[T],
  mark: string,
): EventData[T] => (removers[type] as ContentRemover<EventData[T]>)(data, mark)

/** Text in the place of erased content. */
export const erasedMark = '[erased]'

const allRemovers: ReadonlyMap<string, (data: never, mark: string) => unknown> = new Map<
  string,
  (data: never, mark: string) => unknown
>([...Object.entries(removers), ...Object.entries(sideRemovers)])

/** Returns the data of an event of any stream as they are once the event is erased: the same data, if the type has no content. */
export const erasedData = (type: string, data: unknown): unknown =>
  allRemovers.get(type)?.(data as never, erasedMark) ?? data

/** Returns the calls and results of a message without their content, and a mark for everything else. */
const blocksWithout = (content: readonly Block[], mark: string): readonly Block[] => {
  const left = content.flatMap((block): readonly Block[] => {
    const { type, id, name, tool_use_id: of }: Fields = { ...block }
    if (type === 'tool_use' && typeof id === 'string' && typeof name === 'string')
      return [{ type, id, name, input: {} }]
    return type === 'tool_result' && typeof of === 'string' ? [{ type, tool_use_id: of, content: mark }] : []
  })
  const isMarked = left.some(({ type }) => type === 'tool_result')
  return isMarked || content.length === 0 ? left : [{ type: 'text', text: mark }, ...left]
}

const originWithout = ({ model, stopReason, usage, estimated, starts }: Origin): Origin => ({
  ...(model !== undefined && { model }),
  ...(stopReason !== undefined && { stopReason }),
  ...(usage && { usage: numbersIn(usage) }),
  ...(estimated && { estimated }),
  ...(starts !== undefined && { starts }),
})

/** Returns the numbers in an object and in the objects in it. */
const numbersIn = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]): readonly (readonly [string, unknown])[] => {
      if (typeof value === 'number') return [[name, value]]
      if (!isFields(value)) return []
      return [
        [name, Object.fromEntries(Object.entries(value).filter(([, inner]) => typeof inner === 'number'))],
      ]
    }),
  )

const toolWithout = ({ name, type }: NonNullable<Configuration['tools']>[number], mark: string): Fields =>
  type === undefined || type === 'custom'
    ? { name, description: mark, input_schema: { type: 'object' } }
    : { type, ...(name !== undefined && { name }) }
