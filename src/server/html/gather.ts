import { factsOf } from '../../catalogue/facts.ts'
import { tokensOf, type Weave, weaveIn } from '../../catalogue/weave.ts'
import { countTokens } from '../../context/tokens/tokens.ts'
import type { Conversation, ConversationEvent, Store } from '../../index.ts'
import { isTyped, toError } from '../../result/typed.ts'
import type { EmbeddedFile } from '../../ui/source/embedded/form.ts'
import { redacted } from '../redact.ts'
import type { Reads } from '../route.ts'

export interface HtmlOptions {
  /** The conversation as it was at this position. Default: the last one. */
  readonly at?: number | undefined
  /** With the request of every call, as it was sent. */
  readonly calls?: boolean | undefined
  /** What is made unreadable. */
  readonly redact?: RegExp | undefined
}

interface Page<T> {
  readonly items: readonly T[]
  readonly next?: number
}
interface Problem {
  readonly tag: string
  readonly detail: string
}
interface Called {
  /** Absent of a reply without a receipt. */
  readonly number?: number
  readonly position: number
}

/** What a page about one conversation reads, without a server. @param reads asks the API about the store */
export const gather = async (
  { store, reads }: { readonly store: Store; readonly reads: Reads },
  chat: Conversation,
  { at, calls = false, redact }: HtmlOptions,
): Promise<EmbeddedFile> => {
  const { at: last, ...now } = await chat.context({ at })
  const path = `/conversations/${encodeURIComponent(chat.id)}`
  const ask = async <T>(of: string): Promise<T> => {
    const response = await reads(`${path}${of}`)
    if (!response.ok) throw errorOf((await response.json()) as Problem)
    return (await response.json()) as T
  }
  /** All pages of a list. */
  const list = async <T extends object>(of: string, isIn: (item: T) => boolean) => {
    const items: T[] = []
    for (let from: number | undefined = 0; from !== undefined;) {
      const page: Page<T> = await ask<Page<T>>(`${of}${from > 0 ? `?from=${from}` : ''}`)
      items.push(...page.items.filter(isIn))
      from = page.next
    }
    return { items }
  }
  const events: ConversationEvent[] = []
  for await (const event of chat.events({ to: last })) events.push(event)
  const model = now.outline.configuration?.model
  const own = {
    id: chat.id,
    position: last,
    items: now.items.length,
    tokens: countTokens({ at: last, ...now }).total,
    ...(model !== undefined && { model }),
    queued: 0,
    waiting: 0,
  }
  const made = await list<Called>('/calls', ({ position }) => position <= last)
  const noted = ({ at: place }: { readonly at: number }): boolean => place <= last
  const answers: Record<string, unknown> = {
    '/conversations': { items: [await overviewOf(store, chat.id, events)], total: 1, matching: 1 },
    '/workers': { claims: 0, items: [] },
    '/turns': { items: [] },
    [path]: own,
    [`${path}/calls`]: made,
    [`${path}/notes`]: await list('/notes', noted),
    [`${path}/links`]: await list('/links', noted),
    [`${path}/waiting`]: { items: [] },
  }
  for (const { number, position } of calls ? made.items : []) {
    const call = `/calls/${number ?? `p${position}`}`
    answers[path + call] = await ask(call).catch(unlessMissing)
  }
  const file = {
    form: 1 as const,
    conversation: chat.id,
    events,
    tokens: tokensAfter(events),
    answers,
    written: new Date().toISOString(),
  }
  if (!redact) return file
  const said = redacted(events, redact)
  // The data of notes have shapes of their own.
  const beside = redacted(answers, redact, ['data'])
  return { ...file, events: said.value, answers: beside.value, redacted: said.places + beside.places }
}

/** Tokens of the context after each event, as the index beside the store counts them: it may not know all of them yet. */
const tokensAfter = (events: readonly ConversationEvent[]): readonly number[] => {
  const weave: Weave = { offset: 0, parent: undefined, moments: [] }
  return events.map((event) => tokensOf(weaveIn(weave, factsOf(event))))
}

/** The typed error that a problem was made of. */
const errorOf = ({ tag, detail, ...data }: Problem): Error => toError({ ...data, _tag: tag, message: detail })

/** A call that cannot be made again is missing; any other error ends the export. */
const unlessMissing = (error: unknown): undefined => {
  if (isTyped(error) && uncallable.has(error._tag)) return undefined
  throw error
}
const uncallable: ReadonlySet<string> = new Set(['CallOutOfRange', 'UnknownRenderer', 'NotFound'])

const overviewOf = async (
  store: Store,
  id: string,
  events: readonly ConversationEvent[],
): Promise<object> => {
  const own = { id, events: events.length, updated: events.at(-1)?.metadata.time }
  for await (const overview of store.conversations({ beginning: id }))
    if (overview.id === id) return { ...overview, ...own }
  return { ...own, title: '' }
}
