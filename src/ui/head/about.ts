import { useEffect, useState } from 'preact/hooks'
import { sessionNumber } from '../acts/session.ts'
import type { ConversationListRow } from '../source/answers.ts'
import type { ApiSource } from '../source/source.ts'
import { apiOf } from '../url.ts'

// Facts about the conversation that the page shows: its title, state and figures, for the head of all its pages.

export type ConversationAbout = ConversationListRow & {
  /** Position of the first error. */
  readonly firstError?: number | undefined
}

/** Facts that were learned last, kept so that the next page of the same conversation shows them at once. */
let known: { readonly session: number; readonly about: ConversationAbout } | undefined
const listeners = new Set<() => void>()

/** Tells the head of the page about a conversation. Called by the list, the conversation, the head. */
export const tellAbout = (about: ConversationAbout): void => {
  known = { session: sessionNumber(), about }
  for (const listener of listeners) listener()
}

const knownOf = (id: string): ConversationAbout | undefined =>
  known?.about.id === id && known.session === sessionNumber() ? known.about : undefined

/**
 * Returns the facts about a conversation, and draws again when they change; undefined until they are known.
 *
 * @param isAsked true to request them; false if another part of the page does so (`tellAbout`)
 */
export const useAbout = (source: ApiSource, id: string, isAsked: boolean): ConversationAbout | undefined => {
  const [, draw] = useState(0)
  useEffect(() => {
    const listener = (): void => draw((before) => before + 1)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  useEffect(() => {
    if (!isAsked) return undefined
    const asking = new AbortController()
    const ask = async (): Promise<void> => {
      tellAbout(await source.get(apiOf(id, '/about'), { signal: asking.signal }))
    }
    // Without them, the head shows the id; the page below says what went wrong.
    ask().catch(() => undefined)
    return () => asking.abort()
  }, [source, id, isAsked])
  return knownOf(id)
}
