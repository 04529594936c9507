import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ApiPath } from '../../server/client/api-path.ts'
import { announce } from '../announcer.tsx'
import { Text } from '../blocks/text.tsx'
import { newRepairs } from '../acts/preview.ts'
import { problemOf, type ApiSource } from '../source/source.ts'
import { Skeleton } from '../states.tsx'
import { count, dollars, number, percent } from '../words.ts'
import { linesOf, type CacheUsage, usageIn } from './cache-usage.ts'
import { curlOf } from './curl.ts'
import { type Parts, partsOf, addPositions, type ApiRequestBody, secretsIn } from './parts.ts'
import { Reading } from './reading.tsx'
import type { ReceiptLabel } from './receipt.ts'

/** Labels of the views of a request, by their names in addresses. */
const ways = { reading: 'reading', json: 'JSON', sent: 'as sent', curl: 'curl', why: 'why' } as const
export type RequestViewMode = keyof typeof ways
const wayNames = Object.keys(ways) as readonly RequestViewMode[]

/** Returns the view named in a query string; default: `reading`. */
export const wayOf = (search: string): RequestViewMode => {
  const as = new URLSearchParams(search).get('as')
  return wayNames.find((name) => name === as) ?? 'reading'
}

interface RequestViewProps {
  readonly source: ApiSource
  readonly id: string
  /** Position that the request was made from. */
  readonly at: number
  readonly body: ApiRequestBody
  /** Positions of the events that each message comes from. */
  readonly positions: readonly (readonly number[])[]
  /** Reports whether the call before was not shown the event at a position; undefined if that is unknown. */
  readonly isNew: ((position: number) => boolean) | undefined
  /** API path of the request as sent, byte for byte. */
  readonly exact: ApiPath<'/conversations/{id}/calls/{call}/request'>
  readonly isChat: boolean
  readonly betas?: readonly string[] | undefined
  readonly told: ReceiptLabel
  readonly repairs?: Readonly<Record<string, number>> | undefined
  /** Usage reported in the reply. `usd` is the cost in US dollars, if known. */
  readonly usage?: unknown
  readonly usd?: number | undefined
  readonly way: RequestViewMode
  /** Explanation of what the model saw; undefined if it is not available. */
  readonly why: ComponentChildren
  readonly show: (way: RequestViewMode) => void
}

/** Shows a request: the state of its receipt, its tokens, and its content in the selected view. */
export const RequestView = (props: RequestViewProps) => {
  const { source, id, at, body, positions, isNew, told, repairs = {}, usage, usd, why, show } = props
  const way = props.way === 'why' && why === undefined ? 'reading' : props.way
  const text = useText(props)
  const parts = addPositions(partsOf(body), positions, isNew)
  const counts = usageIn(usage)
  const copy = (): void => {
    navigator.clipboard.writeText(text ?? JSON.stringify(body, undefined, 2)).then(
      () => announce(way === 'curl' ? 'The command is copied.' : 'The request is copied.'),
      () => announce('The browser did not allow this page to copy.'),
    )
  }
  return (
    <>
      <ReceiptState told={told} />
      {counts && <Tokens usage={counts} usd={usd} />}
      <Departures repairs={repairs} secrets={secretsIn(body)} />
      <div class="ways">
        <div role="tablist" aria-label="How the request is shown">
          {wayNames
            .filter((one) => one !== 'why' || why !== undefined)
            .map((one) => (
              <button
                key={one}
                type="button"
                role="tab"
                aria-selected={one === way}
                onClick={() => show(one)}
              >
                {ways[one]}
              </button>
            ))}
        </div>
        <span class="spacer" />
        <span class="faint figures wide-only">{sizesOf(parts)}</span>
        {way !== 'why' && (
          <button
            type="button"
            class="quiet"
            disabled={way !== 'reading' && text === undefined}
            onClick={copy}
          >
            copy
          </button>
        )}
      </div>
      <div role="tabpanel" aria-label={ways[way]} class="way">
        {way === 'why' ? (
          why
        ) : way === 'reading' ? (
          <Reading
            source={source}
            id={id}
            at={at}
            parts={parts}
            lines={linesOf(parts, counts)}
            usage={counts}
            differs={told.path}
          />
        ) : text === undefined ? (
          <Skeleton />
        ) : (
          <div class="json">
            <Text text={text} isOpen />
          </div>
        )}
      </div>
    </>
  )
}

/** Returns the text of a request in the selected view; undefined in the reading view, and until the bytes are loaded. */
const useText = ({ source, body, exact, isChat, betas, way }: RequestViewProps): string | undefined => {
  const [sent, setSent] = useState<string>()
  const isSent = way === 'sent' || way === 'curl'
  useEffect(() => {
    if (!isSent || sent !== undefined) return
    const load = async (): Promise<void> => setSent(await (await source.bytes(exact)).blob.text())
    load().catch((error: unknown) => announce(problemOf(error).detail))
  }, [isSent])
  if (way === 'json') return JSON.stringify(body, undefined, 2)
  if (!isSent || sent === undefined) return undefined
  return way === 'curl' ? curlOf({ body: sent, isChat, betas }) : sent
}

const sizesOf = ({ tools, system, messages }: Parts): string =>
  [
    tools.length > 0 && count(tools.length, 'tool'),
    system.length > 0 && count(system.length, 'system block'),
    count(messages.length, 'message'),
  ]
    .filter(Boolean)
    .join(' · ')

const ReceiptState = ({ told: { state, icon, word, means, path } }: { readonly told: ReceiptLabel }) => (
  <p class={`receipt ${state}`} role="status">
    <b>
      <span aria-hidden="true">{icon}</span> {word}
    </b>{' '}
    <span class="means">
      {means}
      {path !== undefined && <code> {path}</code>}
    </span>
  </p>
)

interface TokensProps {
  readonly usage: CacheUsage
  readonly usd: number | undefined
}
const Tokens = ({ usage: { read, written, fresh, input, output }, usd }: TokensProps) => {
  const shares = [
    ['read', read, 'read from the cache'],
    ['written', written, 'written to the cache'],
    ['fresh', fresh, 'not cached'],
  ] as const
  return (
    <figure class="tokens">
      <div class="share" aria-hidden="true">
        {shares.map(
          ([kind, tokens]) => tokens > 0 && <span key={kind} class={kind} style={{ flexGrow: tokens }} />,
        )}
      </div>
      <figcaption class="figures">
        <b>{number(input)}</b> tokens in
        {shares.map(
          ([kind, tokens, words]) =>
            tokens > 0 && (
              <span key={kind}>
                {' · '}
                <span class={`key ${kind}`} aria-hidden="true" />
                {number(tokens)} {words} <span class="faint">{percent(tokens, input)}</span>
              </span>
            ),
        )}
        {' · '}
        <b>{number(output)}</b> out
        {usd !== undefined && <span title="at list prices"> · {dollars(usd)}</span>}
      </figcaption>
    </figure>
  )
}

interface DeparturesProps {
  readonly repairs: Readonly<Record<string, number>>
  readonly secrets: readonly string[]
}
/** Shows how a request differs from the stored events: its repairs, and the secrets that were inserted. */
const Departures = ({ repairs, secrets }: DeparturesProps) => {
  const done = newRepairs({ before: { repairs: {} }, after: { repairs } })
  return (
    <>
      {done.length > 0 && (
        <p class="faint departures">
          <span aria-hidden="true">⚒ </span>
          Changed from what is stored: {done.join(', ')}.
        </p>
      )}
      {secrets.length > 0 && (
        <p class="faint departures">
          <span aria-hidden="true">⚿ </span>
          {count(secrets.length, 'secret')} {secrets.length === 1 ? 'was' : 'were'} sent and recorded nowhere;
          a reference is shown instead:{' '}
          {secrets.map((secret) => (
            <code key={secret}>{secret} </code>
          ))}
        </p>
      )}
    </>
  )
}
