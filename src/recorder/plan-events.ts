import { factsOf, withView } from '../commands/hide.ts'
import type { HistoryState } from '../conversation/reading/moments.ts'
import type { Configuration, Event, Message } from '../events/events.ts'
import { draftOf, evolve } from '../projections/layout.ts'
import { configurationOf } from '../projections/effective.ts'
import type { RecordPlan } from './plan.ts'
import type { ReadRequest, ReadMessage } from './read-request.ts'

/**
 * Returns the events of a plan.
 *
 * @param base the history that is continued: of the position to which the plan rewinds, or the present one
 * @param last last position of the conversation
 */
export const eventsOf = (
  plan: RecordPlan,
  request: ReadRequest,
  { effective, sinceView }: HistoryState,
  last: number,
): readonly Event[] => {
  const events: Event[] = []
  const { rewindTo, markers, append, label } = plan
  const isRewound = rewindTo !== undefined && (rewindTo >= 0 || last >= 0)
  if (isRewound) events.push({ type: 'Rewound', data: { to: rewindTo, reason: `recorded: ${label}` } })
  const draft = draftOf(effective.layout)
  for (const [index, { from, to, message }] of markers.entries()) {
    const hidden = effective.items.slice(from, to)
    const shown = message === undefined ? undefined : request.messages[message]
    const summary = shown ? [messageOf(shown)] : []
    const facts = factsOf(hidden, summary)
    const marker: Event<'Condensed' | 'Truncated'> = shown
      ? { type: 'Condensed', data: { ...facts, summary, method: 'client' } }
      : { type: 'Truncated', data: { ...facts, reason: `recorded: ${label}` } }
    const isLast = index === markers.length - 1
    const position = last + events.length
    // A view after each of many markers would take more room than the markers.
    const whole = isLast
      ? withView(marker, {
          last: position,
          effective: { layout: draft },
          sinceView: sinceView + index,
          named: {},
        })
      : marker
    evolve(draft, { ...marker, position: position + 1 }, () => undefined)
    events.push(whole)
  }
  if (!isSame(configurationOf(effective), request.configuration))
    events.push({ type: 'Configured', data: request.configuration })
  for (const message of request.messages.slice(append))
    events.push({ type: 'MessageAppended', data: messageOf(message) })
  return events
}

const messageOf = ({ message: { role, content, fields } }: ReadMessage): Message => ({
  role,
  content,
  ...fields,
})

/** Reports whether two configurations are the same, with their fields in the same order, so that bytes can be made again. */
const isSame = (one: Configuration, other: Configuration): boolean => {
  const textOf = ({ system, tools, model, parameters }: Configuration): string =>
    JSON.stringify([system, tools, model, parameters])
  return textOf(one) === textOf(other)
}
