import { useState } from 'preact/hooks'
import type { AnyBlock } from '../../core.ts'
import { Blocks } from '../blocks/blocks.tsx'
import { Text } from '../blocks/text.tsx'
import type { ApiSource } from '../source/source.ts'
import { hrefs } from '../url.ts'
import { count, number, size } from '../words.ts'
import type { CacheBoundary, CacheUsage } from './cache-usage.ts'
import { isAt, nameOf, type RequestPart, type Parts, type MessageParts } from './parts.ts'

interface ReadingProps {
  readonly source: ApiSource
  readonly id: string
  /** Position that the request was made from. */
  readonly at: number
  readonly parts: Parts
  readonly lines: readonly CacheBoundary[]
  readonly usage: CacheUsage | undefined
  /** Path of the first difference from the request that was sent, if known. */
  readonly differs: string | undefined
}

/** Number of messages shown at first, and added each time the user asks for more. */
const step = 24

/** Shows a request in the order in which the model reads it. */
export const Reading = ({ source, id, at, parts, lines, usage, differs }: ReadingProps) => {
  const { tools, system, messages, settings } = parts
  const place = messages.findIndex((said) => said.parts.some((part) => isAt(part, differs)))
  const [from, setFrom] = useState(
    Math.max(0, Math.min(messages.length - step, place < 0 ? Infinity : place)),
  )
  const marks: Marks = {
    source,
    id,
    at,
    lines,
    usage,
    differs,
    last: parts.messages.at(-1)?.parts.at(-1)?.path,
  }
  return (
    <div class="request-text">
      {settings.length > 0 && (
        <Section title="settings" note={settings.map(([name]) => name).join(', ')}>
          <dl class="fields">
            {settings.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <Text text={typeof value === 'string' ? value : JSON.stringify(value)} />
                </dd>
              </div>
            ))}
          </dl>
        </Section>
      )}
      {tools.length > 0 && (
        <Section
          title={count(tools.length, 'tool')}
          note={tools.map(({ block }) => nameOf(block)).join(', ')}
          isOpen={tools.some((part) => isAt(part, differs))}
          marks={marks}
          parts={tools}
        >
          {tools.map((part) => (
            <Tool key={part.path} part={part} />
          ))}
        </Section>
      )}
      {system.length > 0 && (
        <Section
          title="system"
          note={beginningOf(system[0])}
          isOpen={system.some((part) => isAt(part, differs))}
          marks={marks}
          parts={system}
        >
          {system.map((part) => (
            <PartView key={part.path} part={part} marks={marks} />
          ))}
        </Section>
      )}
      {from > 0 && (
        <>
          <button type="button" class="more earlier" onClick={() => setFrom(Math.max(0, from - step))}>
            {count(from, 'earlier message')} · {size(sizeOf(messages.slice(0, from)))} · show{' '}
            {number(Math.min(step, from))} more
          </button>
          <LinesAfter
            paths={messages.slice(0, from).flatMap((said) => said.parts.map(({ path }) => path))}
            marks={marks}
          />
        </>
      )}
      {messages.slice(from).map((said) => (
        <Message key={said.index} said={said} marks={marks} />
      ))}
    </div>
  )
}

const sizeOf = (messages: readonly MessageParts[]): number =>
  messages.reduce((sum, said) => sum + said.parts.reduce((own, part) => own + part.size, 0), 0)

const beginningOf = (part: RequestPart | undefined): string => {
  const text = part?.block['text']
  return typeof text === 'string' ? text.slice(0, 200) : ''
}

interface Marks {
  readonly source: ApiSource
  readonly id: string
  readonly at: number
  readonly lines: readonly CacheBoundary[]
  readonly usage: CacheUsage | undefined
  readonly differs: string | undefined
  /** Path of the last block in the request. */
  readonly last: string | undefined
}

interface SectionProps {
  readonly title: string
  readonly note: string
  readonly isOpen?: boolean
  readonly marks?: Marks
  readonly parts?: readonly RequestPart[]
  readonly children: preact.ComponentChildren
}

const Section = ({ title, note, isOpen = false, marks, parts = [], children }: SectionProps) => {
  const [open, setOpen] = useState(isOpen)
  return (
    <>
      <details class="section" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <b>{title}</b> {!open && <span class="faint gist">{note}</span>}
        </summary>
        {open && <div class="section-body">{children}</div>}
      </details>
      {!open && marks && <LinesAfter paths={parts.map(({ path }) => path)} marks={marks} />}
    </>
  )
}

const Tool = ({ part: { block } }: { readonly part: RequestPart }) => {
  const { name: _, description, ...rest } = block
  return (
    <details class="tool">
      <summary>
        <code>{nameOf(block)}</code>{' '}
        <span class="faint gist">{typeof description === 'string' ? description : ''}</span>
      </summary>
      {typeof description === 'string' && <Text text={description} />}
      <Text text={JSON.stringify(rest, undefined, 2)} />
    </details>
  )
}

const Message = ({ said, marks }: { readonly said: MessageParts; readonly marks: Marks }) => (
  <article class={`request-message ${inkOf(said)}${isNew(said) ? ' is-new' : ''}`}>
    <header title={`message ${number(said.index + 1)} of the request`}>
      <span class="position figures">
        {said.events?.slice(0, mostEvents).map((event) => (
          <span key={event.position}>
            {event.isNew && (
              <span class="new-sign" role="img" aria-label="new since the call before">
                +
              </span>
            )}
            <a href={hrefs.conversation(marks.id, { at: marks.at, sel: event.position })}>
              {number(event.position)}
            </a>{' '}
          </span>
        ))}
      </span>
      <span class="kind">{wordOf(said)}</span>
    </header>
    <div class="said-body">
      {said.parts.length === 0 && <p class="nothing">no content</p>}
      {said.parts.map((part) => (
        <PartView key={part.path} part={part} marks={marks} />
      ))}
    </div>
  </article>
)

/** Maximum number of events named beside a message. */
const mostEvents = 6

/** Reports whether everything in a message is new since the call before. */
const isNew = ({ events = [] }: MessageParts): boolean =>
  events.length > 0 && events.every((event) => event.isNew)

const isResults = ({ parts }: MessageParts): boolean =>
  parts.length > 0 && parts.every(({ block }) => block.type?.endsWith('tool_result') === true)
const hasCalls = ({ parts }: MessageParts): boolean =>
  parts.some(({ block }) => block.type?.endsWith('tool_use') === true || block.type === 'tool_call')
const inkOf = (said: MessageParts): string =>
  said.role === 'tool' || isResults(said) ? 'result' : hasCalls(said) ? 'call' : said.role
const wordOf = (said: MessageParts): string => {
  if (isResults(said)) return 'tool result'
  return hasCalls(said) ? 'tool call' : said.role
}

const PartView = ({ part, marks }: { readonly part: RequestPart; readonly marks: Marks }) => {
  const { cache_control: _, ...block } = part.block
  const isDifferent = isAt(part, marks.differs)
  return (
    <>
      <div class={isDifferent ? 'part differs' : 'part'} data-path={part.path}>
        {isDifferent && (
          <p class="differs-label">
            <span aria-hidden="true">≠ </span>the first difference: this is not what was sent
          </p>
        )}
        <Blocks source={marks.source} content={[block as AnyBlock]} isNamed />
      </div>
      {part.breakpoint !== undefined && !marks.lines.some(({ after }) => after === part.path) && (
        <p class="breakpoint">cache breakpoint{part.breakpoint === '5m' ? '' : `, ${part.breakpoint}`}</p>
      )}
      <LinesAfter paths={[part.path]} marks={marks} />
    </>
  )
}

/** Shows the cache boundaries that follow one of the given blocks. */
const LinesAfter = ({
  paths,
  marks: { lines, usage, last },
}: {
  readonly paths: readonly string[]
  readonly marks: Marks
}) => {
  const here = lines.filter(({ after }) => paths.includes(after))
  if (here.length === 0) return null
  const isEnd = here.at(-1) === lines.at(-1) && paths.at(-1) === last
  return (
    <>
      {here.map(({ kind, tokens, isNear }) => (
        <p key={kind} class={`cached ${kind}`}>
          <span>
            {kind === 'read' ? '↑ read from the cache: ' : '↑ written to the cache: '}
            <b class="figures">{number(tokens)}</b> tokens
            {isNear && <span class="faint"> (up to about here)</span>}
            {kind === lines.at(-1)?.kind && !isEnd && usage !== undefined && usage.fresh > 0 && (
              <>
                {' '}
                · ↓ new: <b class="figures">{number(usage.fresh)}</b>
              </>
            )}
          </span>
        </p>
      ))}
    </>
  )
}
