import { useEffect, useState } from 'preact/hooks'
import { sessionNumber } from '../acts/session.ts'
import { apiPathOf } from '../../server/client/api-path.ts'
import type { ConversationListRow } from '../source/answers.ts'
import type { ApiSource } from '../source/source.ts'
import type { ConversationStatus } from './status.tsx'

// Facts about the conversation that the page shows: its title, state and figures, for the head of all its pages.

export type ConversationAbout = ConversationListRow & {
  readonly status?: ConversationStatus | undefined
  readonly model?: string | undefined
  readonly cost?: number | undefined
  readonly errors?: number | undefined
  /** Position of the first error. */
  readonly firstError?: number | undefined
  /** Time of the first event, in ISO 8601. */
  readonly begun?: string | undefined
  /** True if the last reply reports its tokens; otherwise, `tokens` is an estimate. */
  readonly isMeasured?: boolean | undefined
  /** Tokens of what is sent with each request and not recorded: the system prompt and the tools of imported sessions. */
  readonly unrecorded?: number | undefined
}

/** Facts that were learned last, kept so that the next page of the same conversation shows them at once. */
let known: { readonly session: number; readonly about: ConversationAbout } | undefined
const listeners = new Set<() => void>()

/** Tells the head of the page about a conversation. Called by whoever has learned something: the list, the conversation, the head. */
export const tellAbout = (about: ConversationAbout): void => {
  known = { session: sessionNumber(), about }
  for (const listener of listeners) listener()
}

const knownOf = (id: string): ConversationAbout | undefined =>
  known?.about.id === id && known.session === sessionNumber() ? known.about : undefined

/**
 * Returns the facts about a conversation, and draws again when they change.
 *
 * @param isAsked true to request them; false if another part of the page does so (`tellAbout`)
 */
export const useAbout = (
  source: ApiSource,
  id: string,
  isAsked: boolean,
): { readonly about: ConversationAbout | undefined; readonly isMissing: boolean } => {
  const [, draw] = useState(0)
  const [isMissing, setMissing] = useState(false)
  useEffect(() => {
    const listener = (): void => draw((before) => before + 1)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  useEffect(() => {
    if (!isAsked) return undefined
    const asking = new AbortController()
    const ask = async (): Promise<void> => {
      const path = apiPathOf('/conversations', {}, { beginning: id, order: 'id', limit: 1 })
      const { items } = await source.get(path, { signal: asking.signal })
      const found = items.find((item) => item.id === id)
      if (found) tellAbout(found)
      setMissing(!found)
    }
    ask().catch(() => asking.signal.aborted || setMissing(true))
    return () => asking.abort()
  }, [source, id, isAsked])
  return { about: knownOf(id), isMissing }
}
