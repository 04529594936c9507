import { useEffect, useState } from 'preact/hooks'
import { withPart } from '../part.tsx'
import type { ApiRequestBody } from '../request/parts.ts'
import type { ApiSource } from '../source/source.ts'
import { Failed, Skeleton, useAsked } from '../states.tsx'
import { hrefs } from '../url.ts'
import { count, size } from '../words.ts'
import { ConfigurationChanges } from './configurations.tsx'
import type { DiffEnd } from './ends.ts'
import type { ExcerptEntry } from './excerpt.ts'
import { type DiffRequest, requestAt } from './request-at.ts'
import { breakpointsIn, type SaidBlock, blocksIn, rowsOfBlocks, settingChanges } from './request-changes.ts'
import type { DiffRow } from './rows.ts'
import { DiffList } from './rows-view.tsx'
import { Sums } from './sums.tsx'

interface RequestChangesProps {
  readonly source: ApiSource
  readonly one: DiffEnd
  readonly other: DiffEnd
}

/**
 * Shows the differences between the requests at two positions. Uses the request as sent if a model call was made at the position,
 * otherwise the request that would be sent.
 */
export const RequestChanges = ({ source, one, other }: RequestChangesProps) => {
  const key = (end: DiffEnd): string => `${end.id} ${end.at}`
  const before = useAsked((signal) => requestAt(source, one, signal), [source, key(one)])
  const after = useAsked((signal) => requestAt(source, other, signal), [source, key(other)])
  const error = before.error ?? after.error
  if (error !== undefined) return <Failed error={error} />
  if (!before.value || !after.value) return <Skeleton />
  const isOneForm = (before.value.body === undefined) === (after.value.body === undefined)
  const shown = ({ request, body }: DiffRequest): ApiRequestBody => (isOneForm ? (body ?? request) : request)
  const [was, is] = [shown(before.value), shown(after.value)]
  return (
    <div class="request-changes">
      <dl class="made">
        <MadeOf word="from" end={one} made={before.value} request={was} />
        <MadeOf word="to" end={other} made={after.value} request={is} />
      </dl>
      {!isOneForm && (
        <p class="faint">
          They were sent to different APIs: both are compared in the form of the Messages API.
        </p>
      )}
      <Settings
        before={was}
        after={is}
        isKnown={[before.value.call !== undefined, after.value.call !== undefined]}
      />
      <ConfigurationChanges before={was} after={is} />
      <h2>messages</h2>
      <Messages before={was} after={is} />
    </div>
  )
}

interface MadeOfProps {
  readonly word: string
  readonly end: DiffEnd
  readonly made: DiffRequest
  readonly request: ApiRequestBody
}
/** Shows the size of a request, and whether it was sent, reconstructed or never made. */
const MadeOf = ({ word, end: { id }, made: { call }, request }: MadeOfProps) => (
  <>
    <dt>{word}</dt>
    <dd>
      {call === undefined ? (
        'as it would be made: no call was made at this position'
      ) : (
        <>
          <a href={hrefs.call(id, call.name)}>call {call.name}</a>
          {call.state === 'verified'
            ? ', as sent'
            : call.state === 'erased'
              ? ', rebuilt: content that it showed was erased'
              : ', rebuilt: it differs from what was sent'}
        </>
      )}{' '}
      <span class="faint figures">
        {count(request.messages.length, 'message')} · {size(JSON.stringify(request).length)}
      </span>
    </dd>
  </>
)

interface SettingsProps {
  readonly before: ApiRequestBody
  readonly after: ApiRequestBody
  /** For each request, true if it was sent. The settings of a request that was never made are unknown. */
  readonly isKnown: readonly [before: boolean, after: boolean]
}

const Settings = ({ before, after, isKnown: [isOld, isNow] }: SettingsProps) => {
  const differing = settingChanges(before, after)
  const settings = isOld === isNow ? differing : []
  const unknown = isOld === isNow ? [] : differing.map(({ name }) => name)
  const [was, is] = [breakpointsIn(before), breakpointsIn(after)]
  const moved =
    was.join() === is.join() ? [] : [{ name: 'cache breakpoints', before: told(was), after: told(is) }]
  const all = [...settings, ...moved]
  return (
    <>
      <h2>settings</h2>
      {all.length === 0 && unknown.length === 0 && <p class="faint">They are the same in both.</p>}
      {unknown.length > 0 && (
        <p class="faint">Known only of the request that was sent: {unknown.join(', ')}.</p>
      )}
      <dl class="fields">
        {all.map(({ name, before: old, after: now }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="words">
              {old !== undefined && <del>{old}</del>} {now !== undefined && <ins>{now}</ins>}
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}
const told = (places: readonly string[]): string | undefined =>
  places.length === 0 ? undefined : `after ${places.join(', ')}`

const keysOf = (said: readonly SaidBlock[]): readonly string[] => said.map(({ key }) => key)

const Messages = ({ before, after }: { readonly before: ApiRequestBody; readonly after: ApiRequestBody }) => {
  const [rows, setRows] = useState<readonly DiffRow<ExcerptEntry>[]>()
  useEffect(() => {
    let isGone = false
    withPart(import('./words.ts'), ({ listsChanged }) => {
      const [was, is] = [blocksIn(before), blocksIn(after)]
      const stretches = listsChanged(keysOf(was), keysOf(is))
      if (!isGone) setRows(rowsOfBlocks(was, is, stretches))
    })
    return () => {
      isGone = true
    }
  }, [before, after])
  if (!rows) return <Skeleton rows={3} />
  const sum = (kind: string): number =>
    rows.reduce((all, row) => all + (row.kind === kind ? ('entries' in row ? row.entries.length : 1) : 0), 0)
  return (
    <>
      <Sums left={sum('left')} came={sum('came')} turned={sum('changed')} kept={sum('kept')} />
      <DiffList rows={rows} />
    </>
  )
}
