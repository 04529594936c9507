import type { HiddenByMarker } from '../../core.ts'
import type { ComponentChildren } from 'preact'
import { Blocks } from '../blocks/blocks.tsx'
import type { ApiSource } from '../source/source.ts'
import { hrefs, type ConversationViewState } from '../url.ts'
import { brief, count, erasedText, number, size } from '../words.ts'
import { describe, lengthOf } from './kinds.ts'
import { type HistoryRow, stateOf } from './rows.ts'
import type { ShownEntry, ClippedItem } from '../source/answers.ts'

export interface RowContext {
  readonly source: ApiSource
  readonly conversation: string
  readonly view: ConversationViewState
  readonly at: number
  readonly names: ReadonlyMap<string, string>
  readonly hidden: ReadonlyMap<number, HiddenByMarker>
  readonly toggle: (position: number) => void
  readonly more: (group: number) => void
  /** Positions of the messages that are fully expanded. */
  readonly whole: ReadonlySet<number>
}

export const At = ({ around, position }: { readonly around: RowContext; readonly position: number }) => (
  <a
    class="at"
    href={hrefs.conversation(around.conversation, { ...around.view, at: position, sel: undefined })}
    title={`go to position ${position}`}
    tabIndex={-1}
  >
    <bdi>{position}</bdi>
  </a>
)

interface BodyProps {
  readonly around: RowContext
  readonly item: ClippedItem | ShownEntry
  readonly state?: ComponentChildren
}

/** Shows when the content of an item was erased, if it was. */
const Erased = ({ item: { erased } }: Pick<BodyProps, 'item'>) =>
  erased === undefined ? null : <span class="state">{erasedText(erased)}</span>

/** Shows an item: its kind, tools, status, length and content. */
const Message = ({ around, item, state }: BodyProps) => {
  const { tone, words, tools } = describe(item, around.names)
  return (
    <>
      <p class={`what tone-${tone}`}>
        <span class="kind">{words}</span> {tools !== '' && <b>{tools}</b>}
        {state !== undefined && <span class="state">{state}</span>}
        <Erased item={item} />
        <span class="size figures">{size(lengthOf(item))}</span>
      </p>
      <Said around={around} item={item} />
    </>
  )
}

const Said = ({ around, item }: BodyProps) => {
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
          text={view.text}
          isOpen={whole.has(item.position)}
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

/** Returns the fields of the messages that only their API or program knows. */
const fieldsOf = (item: Exclude<BodyProps['item'], { readonly kind: 'truncation' }>) =>
  item.kind === 'message'
    ? Object.entries(item.fields ?? {})
    : item.messages.flatMap(({ role: _role, content: _content, ...fields }) => Object.entries(fields))

const methods: Readonly<Record<string, string>> = {
  model: 'by the model',
  provider: 'by the provider',
  client: 'by the client',
  manual: 'by hand',
}

type Group = Extract<HistoryRow, { readonly kind: 'group' }>

/** Shows the summary or truncation note that replaces hidden messages. */
export const InPlace = ({ around, item }: { readonly around: RowContext; readonly item: Group['item'] }) => (
  <div class={`in-place tone-${item.kind === 'summary' ? 'condensed' : 'truncated'}`}>
    <p class="what">
      <span class="kind">{item.kind === 'summary' ? 'summary' : 'truncated'}</span>{' '}
      {item.kind === 'summary' && <span class="faint">{methods[item.method]}</span>}
      <Erased item={item} />
      <span class="size figures">
        {brief(item.tokens.before)} → {brief(item.tokens.after)} tokens
      </span>
    </p>
    {item.kind === 'summary' ? (
      <Said around={around} item={item} />
    ) : (
      <p class="nothing">
        {item.reason === undefined
          ? 'Nothing is shown in its place.'
          : `Nothing is shown in its place: ${item.reason}`}
      </p>
    )}
  </div>
)

const toolsShown = 5

/** Shows the most frequent tools called in hidden messages: `22 Bash 16 Read 13 Grep`. */
const Outlined = ({ hidden }: { readonly hidden: HiddenByMarker | undefined }) => {
  if (!hidden || hidden.tools.length === 0) return null
  const rest = hidden.tools.length - toolsShown
  return (
    <span class="outline figures">
      {hidden.tools.slice(0, toolsShown).map(([name, calls]) => (
        <span key={name}>
          {number(calls)} <b>{name}</b>
        </span>
      ))}
      {rest > 0 && <span>{rest} more</span>}
    </span>
  )
}

const GroupHead = ({ around, row }: { readonly around: RowContext; readonly row: Group }) => {
  const { item, isOpen, position } = row
  const words = item.kind === 'summary' ? 'replaced by a summary' : 'no longer shown'
  return (
    <button
      type="button"
      class="fold"
      aria-expanded={isOpen}
      onClick={() => around.toggle(position)}
      tabIndex={-1}
    >
      <span class="twist" aria-hidden="true">
        {isOpen ? '▾' : '▸'}
      </span>
      <span>
        {count(item.messagesHidden, 'message')} {words}
        <Outlined hidden={around.hidden.get(position)} />
      </span>
    </button>
  )
}

const hiddenState = (entry: ShownEntry, group: number): string => {
  const verb = entry.status === 'truncated' ? 'truncated' : 'condensed'
  return entry.by === group
    ? `hidden · ${verb} by ${entry.by}`
    : `hidden · ${verb} by ${entry.by}, itself under ${group}`
}

/** Shows a row with two cells: the full history, and the effective history. */
export const RowView = ({ around, row }: { readonly around: RowContext; readonly row: HistoryRow }) => {
  switch (row.kind) {
    case 'same':
      return (
        <div class="cell both">
          <At around={around} position={row.position} />
          <div class="said">
            <Message around={around} item={row.item} />
          </div>
        </div>
      )
    case 'group':
      return (
        <>
          <div class="cell left">
            <At around={around} position={row.position} />
            <div class="said">
              <GroupHead around={around} row={row} />
            </div>
          </div>
          <div class="cell right">
            <InPlace around={around} item={row.item} />
          </div>
        </>
      )
    case 'hidden':
      return (
        <div class="cell left past">
          <At around={around} position={row.position} />
          <div class="said">
            {row.entry.kind === 'message' ? (
              <Message around={around} item={row.entry} state={hiddenState(row.entry, row.group)} />
            ) : (
              <>
                <p class={`what tone-${row.entry.kind === 'summary' ? 'condensed' : 'truncated'}`}>
                  <span class="kind">{row.entry.kind}</span> of {count(row.entry.messagesHidden, 'message')}
                  <span class="state">
                    note {row.position}, itself {row.entry.status} by {row.entry.by}
                  </span>
                  <Erased item={row.entry} />
                </p>
                <Said around={around} item={row.entry} />
              </>
            )}
          </div>
        </div>
      )
    case 'more':
      return (
        <div class="cell left past">
          <span class="at" />
          <button type="button" class="more" onClick={() => around.more(row.group)}>
            load what came before
          </button>
        </div>
      )
    case 'jump': {
      const { from, to, by } = row.jump
      return (
        <div class="cell left">
          <At around={around} position={from} />
          <div class="said">
            <button
              type="button"
              class="fold tone-rewound"
              aria-expanded={row.isOpen}
              onClick={() => around.toggle(from)}
              tabIndex={-1}
            >
              <span class="twist" aria-hidden="true">
                ↩
              </span>
              <span>
                {count(to - from + 1, 'event')} abandoned by the rewind at {by}
              </span>
            </button>
          </div>
        </div>
      )
    }
    case 'abandoned':
      return (
        <div class="cell left past">
          <At around={around} position={row.position} />
          <div class="said">
            <Message around={around} item={row.entry} state={`abandoned · rewind at ${row.entry.by}`} />
          </div>
        </div>
      )
    case 'restored':
      return (
        <div class="cell left past">
          <At around={around} position={row.position} />
          <div class="said">
            <p class="what tone-restored">
              a marker, taken back by the restore at <At around={around} position={row.by} />
            </p>
          </div>
        </div>
      )
    case 'repair':
      return (
        <div class="cell right repair">
          <p class="what tone-assistant">
            <span class="kind">repaired in the request</span> {row.repair.detail}
          </p>
        </div>
      )
  }
}

export const rowLabel = (row: HistoryRow, names: ReadonlyMap<string, string>): string => {
  const item = 'item' in row ? row.item : 'entry' in row ? row.entry : undefined
  const what = item ? describe(item, names).words : row.kind
  const erased = erasedText(item?.erased)
  return [number(row.position), what, stateOf(row), ...(erased === undefined ? [] : [erased])].join(', ')
}
