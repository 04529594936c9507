import type { Role } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import type { MessageDraft } from './drafts.ts'
import type { RequestDraft, WaitingFields } from './page.ts'
import type { Report } from './repairs.ts'
import type { Utterance } from './utterances.ts'

/** Fields that a message of a request may have beside role and content, by role. The API refuses any other field. */
const sent: Readonly<Record<Role, ReadonlySet<string>>> = {
  user: new Set(),
  assistant: new Set(),
  system: new Set(['output_config']),
}

/**
 * Returns the fields of a message that a request carries; undefined if there are none. The others are reported.
 *
 * @param systemMessages false if the request cannot have messages of role `system`
 */
export const sentFields = (
  { role, fields, position }: Utterance,
  systemMessages: boolean,
  report: Report,
): Fields | undefined => {
  if (!fields) return undefined
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    const effort = isFields(value) ? value['effort'] : undefined
    if (!sent[role].has(name)) report('field-dropped', position, `${name} of a ${role} message is not sent`)
    else if (!systemMessages)
      report('field-dropped', position, `${name}: this request has no messages of role system`)
    else if (typeof effort !== 'string' || effort === '')
      report('field-dropped', position, `${name} of a system message sets no effort`)
    else {
      // The API takes nothing else per message: the format holds for the whole request.
      kept[name] = { effort: effort.toWellFormed() }
      if (Object.keys(value as Fields).length > 1)
        report('field-dropped', position, `${name} of a system message, except the effort`)
    }
  }
  return Object.keys(kept).length > 0 ? kept : undefined
}

/** Reports whether another message may come next. It may not be the first, divide a tool round, or follow a paused reply. */
export const mayDivide = ({ messages, open, waiting, reply }: RequestDraft): boolean =>
  messages.length > 0 &&
  open.size() === 0 &&
  waiting.size === 0 &&
  !(messages.at(-1)?.role === 'assistant' && reply?.paused === true)

/** Adds the waiting system messages, each as a message of its own. */
export const placeFields = (page: RequestDraft): void => {
  if (page.later.length === 0 || !mayDivide(page)) return
  for (const each of page.later) page.messages.push(draftOf(each, ++page.count.messages))
  page.later.length = 0
}

const draftOf = ({ position, fields }: WaitingFields, nth: number): MessageDraft => ({
  role: 'system',
  position,
  content: [],
  fields,
  until: position,
  nth,
  thinks: false,
})

/** Adds the waiting system messages at the end of a request, or reports why they have no place there. */
export const placeFieldsAtEnd = (
  { later, waiting, reply, count }: RequestDraft,
  all: MessageDraft[],
  isPrefill: boolean,
  report: Report,
): void => {
  const last = all.at(-1)
  const continues = last?.role === 'assistant' && (isPrefill || reply?.paused === true)
  for (const each of later) {
    if (last && !continues && waiting.size === 0) all.push(draftOf(each, count.messages + 1))
    else report('message-dropped', each.position, 'nothing may come after a reply that continues')
  }
}

/** Puts the system messages without content among these back to those that wait, before the others. */
export const takeFields = ({ later }: RequestDraft, drafts: readonly MessageDraft[]): void => {
  const taken = drafts.flatMap(({ role, position, content, fields }) =>
    role === 'system' && content.length === 0 && fields ? [{ position, fields, isMoved: false }] : [],
  )
  later.unshift(...taken)
}
