import type { HiddenByMarker } from '../../core.ts'
import type { Acts } from '../acts/use-acts.tsx'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { Blocks } from '../blocks/blocks.tsx'
import type { ApiSource } from '../source/source.ts'
import { hrefs, type ConversationViewState } from '../url.ts'
import { brief, clock, duration, erasedText, number, size } from '../words.ts'
import type { useDecisions } from './fetching/use-decisions.ts'
import { describe, isToolCall, isToolResult, itemBlocks, lengthOf } from './kinds.ts'
import type { CallOutcome } from './outcomes.ts'
import type { HistoryRow } from './rows.ts'
import { Place } from './story.tsx'
import type { ClippedItem, MarkerStoryResponse, OutlineResponse, ShownEntry } from '../source/answers.ts'

export interface RowContext {
  readonly source: ApiSource
  readonly conversation: string
  readonly view: ConversationViewState
  readonly at: number
  readonly names: ReadonlyMap<string, string>
  readonly outcomes: ReadonlyMap<string, CallOutcome>
  /** Decisions of people on tool calls, by call id. */
  readonly decisions: ReturnType<typeof useDecisions>
  readonly hidden: ReadonlyMap<number, HiddenByMarker>
  readonly toggle: (position: number) => void
  readonly more: (group: number) => void
  /** Positions of the messages that are fully expanded. */
  readonly whole: ReadonlySet<number>
  readonly outline: OutlineResponse | undefined
  /** Story of the selected marker; undefined until it arrives, and without a selected marker. */
  readonly story: MarkerStoryResponse | undefined
  /** Selects the event at a position and scrolls to it, wherever it is hidden. */
  readonly reveal: (position: number) => void
  /** Actions of the selected marker. */
  readonly acts: Pick<Acts, 'off' | 'restore' | 'forkAt'>
}

export const At = ({ around, position }: { readonly around: RowContext; readonly position: number }) => (
  <a
    class="at"
    href={hrefs.conversation(around.conversation, { ...around.view, at: position, sel: undefined })}
    title={`go to position ${position}`}
    tabIndex={-1}
  >
    <bdi>{position}</bdi>
    {timeOf(around, position)}
  </a>
)

/** Tokens of the context before and after a marker, as everywhere on the page; without its outline, as estimated for its content alone. */
export const tokensAround = (
  outline: OutlineResponse | undefined,
  { position, tokens }: GroupRow['item'],
): { readonly before: number; readonly after: number } => {
  const index = position - (outline?.from ?? 0)
  const [before, after] = [outline?.tokens[index - 1], outline?.tokens[index]]
  return before === undefined || after === undefined ? tokens : { before, after }
}

/** Shows the time of a message below its position; results are shown with the time that they took. */
const timeOf = ({ outline }: RowContext, position: number): ComponentChildren => {
  const index = position - (outline?.from ?? 0)
  const time = outline?.times[index]
  return time !== undefined && 'uacs'.includes(outline?.kinds[index] ?? '-') ? (
    <small aria-hidden="true">{clock(time)}</small>
  ) : null
}

interface BodyProps {
  readonly around: RowContext
  readonly item: ClippedItem | ShownEntry
  readonly state?: ComponentChildren
}

/** Shows when the content of an item was erased, if it was. */
export const Erased = ({ item: { erased } }: Pick<BodyProps, 'item'>) =>
  erased === undefined ? null : <span class="state">{erasedText(erased)}</span>

/** Shows an item: its kind, tools, status, length and content. */
export const Message = ({ around, item, state }: BodyProps) => {
  const { tone, words, tools } = describe(item, around.names)
  const calls = itemBlocks(item).filter(isToolCall)
  const [first] = calls
  const length = useMemo(() => lengthOf(item), [item])
  return (
    <>
      <p class={`what tone-${tone}`}>
        <span class="kind">{words}</span> {tools !== '' && <b>{tools}</b>}
        {first && calls.length === 1 && <Outcome around={around} call={String(first['id'])} />}
        {tone === 'result' && <CalledAt around={around} item={item} />}
        {state !== undefined && <span class="state">{state}</span>}
        <Erased item={item} />
        <span class={isFailed(item) ? 'size figures failed' : 'size figures'}>
          {outcomeOf(around, item, tone, length).join(' · ')}
        </span>
      </p>
      <Said around={around} item={item} />
    </>
  )
}

/** Shows what became of a tool call: who decided on it, and a link to its result with the time that it took. */
const Outcome = ({ around, call }: { readonly around: RowContext; readonly call: string }) => {
  const { outcomes, decisions, outline, conversation, reveal } = around
  const { call: from, result, isError } = outcomes.get(call) ?? {}
  const wait = decisions.get(call)
  const [begun, ended] = [from, result].map((position) => outline?.times[(position ?? -1) - outline.from])
  const took = begun === undefined || ended === undefined ? 0 : ended - begun
  return (
    <span class="outcome figures">
      {wait?.decision !== undefined && (
        <span title={wait.note}>
          {wait.decision} by <bdi>{wait.by}</bdi>
        </span>
      )}
      {result !== undefined && (
        <span class={isError ? 'failed' : ''}>
          {isError ? '✕ ' : '→ '}
          <Place links={{ conversation, reveal }} position={result} label={`result at ${number(result)}`} />
          {took > 0 && ` · ${duration(took)}`}
        </span>
      )}
    </span>
  )
}

/** Links results to the reply that called the tools, unless it is the event before them. */
const CalledAt = ({ around, item }: Pick<BodyProps, 'around' | 'item'>) => {
  const { outcomes, conversation, reveal } = around
  const first = itemBlocks(item).find(isToolResult)
  const call = first && outcomes.get(String(first['tool_use_id']))?.call
  return call === undefined || call === item.position - 1 ? null : (
    <span class="outcome figures">
      called at <Place links={{ conversation, reveal }} position={call} />
    </span>
  )
}

/** Returns what is known of a message beside its content: whether a result failed, its size, the context and the time that it took. */
const outcomeOf = (
  { outline }: RowContext,
  item: ClippedItem | ShownEntry,
  tone: string,
  length: number,
): readonly string[] => {
  const index = item.position - (outline?.from ?? 0)
  const [before, now] = [outline?.times[index - 1], outline?.times[index]]
  const took = before === undefined || now === undefined ? 0 : now - before
  const tokens = outline?.tokens[index]
  return [
    ...(tone === 'result' && isFailed(item) ? ['✕ error'] : []),
    ...(outline?.retries.includes(item.position) === true ? ['○ retry'] : []),
    hasMoreBlocks(item) ? `over ${size(length)}` : size(length),
    ...(tokens !== undefined && tone !== 'result' && tone !== 'user' ? [`context ${brief(tokens)}`] : []),
    ...(took > 0 && tone !== 'user' ? [duration(took)] : []),
  ]
}

/** Reports whether the server has left out the last blocks of an item. */
const hasMoreBlocks = (item: ClippedItem | ShownEntry): boolean =>
  item.kind !== 'truncation' && item.blocks !== undefined

const isFailed = (item: ClippedItem | ShownEntry): boolean =>
  item.kind === 'message' &&
  item.content.some((block) => block.type === 'tool_result' && block['is_error'] === true)

export const Said = ({ around, item }: BodyProps) => {
  const { source, conversation, view, whole } = around
  if (item.kind === 'truncation')
    return item.reason === undefined ? null : <p class="reason">{item.reason}</p>
  const content = item.kind === 'message' ? item.content : item.messages.flatMap((message) => message.content)
  const of = { conversation, position: item.position }
  const fields = fieldsOf(item)
  return (
    <>
      {(content.length > 0 || fields.length === 0) && (
        <Blocks
          {...{ source, of, content }}
          cuts={item.cuts}
          total={item.blocks}
          text={view.text}
          isOpen={whole.has(item.position)}
          outcome={(call) => <Outcome around={around} call={call} />}
        />
      )}
      {fields.map(([name, value], index) => (
        <p class="reason" key={index}>
          <code>{name}</code> {JSON.stringify(value)}
        </p>
      ))}
    </>
  )
}

/** Returns the fields of the messages that only their API or program knows, without a framework's own form of the message, `item`. */
const fieldsOf = (item: Exclude<BodyProps['item'], { readonly kind: 'truncation' }>) =>
  (item.kind === 'message'
    ? Object.entries(item.fields ?? {})
    : item.messages.flatMap(({ role: _role, content: _content, ...fields }) => Object.entries(fields))
  ).filter(([name]) => name !== 'item')

const methods: Readonly<Record<string, string>> = {
  model: 'by the model',
  provider: 'by the provider',
  client: 'by the client',
  manual: 'by hand',
}

export type GroupRow = Extract<HistoryRow, { readonly kind: 'group' }>

/** Shows the summary or truncation note that replaces hidden messages. */
export const InPlace = ({
  around,
  item,
}: {
  readonly around: RowContext
  readonly item: GroupRow['item']
}) => (
  <div class={`in-place tone-${item.kind === 'summary' ? 'condensed' : 'truncated'}`}>
    <p class="what">
      <span class="kind">{item.kind === 'summary' ? 'summary' : 'truncated'}</span>{' '}
      {item.kind === 'summary' && <span class="faint">{methods[item.method]}</span>}
      <Erased item={item} />
    </p>
    {item.kind === 'summary' ? (
      <Said around={around} item={item} />
    ) : (
      <p class="nothing">
        No summary: the model sees nothing of{' '}
        {item.messagesHidden === 1 ? 'this message' : `these ${number(item.messagesHidden)} messages`}.
        {item.reason !== undefined && ` Reason: ${item.reason}`}
      </p>
    )}
  </div>
)
