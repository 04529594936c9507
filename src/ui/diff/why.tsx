import type { ConversationEvent } from '../../core.ts'
import { eventWords } from '../acts/acts.ts'
import type { ApiSource } from '../source/source.ts'
import { useFetched } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { count, moment, number } from '../words.ts'
import { causesOf, type DiffRowChange } from './rows.ts'

interface WhyProps {
  readonly source: ApiSource
  readonly id: string
  /** Range of the events: `after` is exclusive, `to` inclusive. */
  readonly after: number
  readonly to: number
  readonly changes: readonly DiffRowChange[]
}

/** Maximum number of events fetched. */
const most = 1_000

/** Lists the events between two positions, except messages, and highlights those that caused a difference. */
export const Why = ({ source, id, after, to, changes }: WhyProps) => {
  const query = { from: after + 1, limit: Math.min(most, Math.max(1, to - after)), clip: 200 }
  const path = apiOf(id, '/events', query)
  const { value } = useFetched(source, to > after ? path : undefined)
  if (!value) return null
  const decisions = value.items.filter(({ type }) => type !== 'MessageAppended')
  const said = value.items.length - decisions.length
  const causes = causesOf(changes)
  return (
    <section class="why">
      <h2>Why</h2>
      {decisions.length > 0 && (
        <ul>
          {decisions.map((event) => (
            <li key={event.position} class={causes.has(event.position) ? 'cause' : ''}>
              <a class="position figures" href={hrefs.conversation(id, { at: event.position })}>
                {event.position}
              </a>
              <span>
                <b>{eventWords(event)}</b>
                {because(event.data)}
              </span>
              <span class="faint figures">
                {event.metadata.actor.id ?? event.metadata.actor.kind} · {moment(event.metadata.time)}
              </span>
            </li>
          ))}
        </ul>
      )}
      <p class="faint">
        {decisions.length > 0 ? 'and ' : ''}
        {count(said, 'message was', 'messages were')} added
        {to - after > most && `, of the first ${number(most)} events of ${number(to - after)}`}
      </p>
    </section>
  )
}

/**
 * Describes why an event was written: the reason recorded in the event, or the limit that was exceeded. Returns an empty string if the
 * event has neither.
 */
const because = (data: ConversationEvent['data']): string => {
  if ('reason' in data && data.reason !== undefined) return `: ${data.reason}`
  if (!('policy' in data) || !data.policy) return ''
  const { used, allowed, of } = data.policy
  return `, because ${number(used)} ${of === 'result' ? 'bytes' : 'tokens'} are more than ${number(allowed)}`
}
