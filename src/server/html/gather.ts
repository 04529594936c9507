import { chunkLength } from '../../catalogue/columns.ts'
import { factsOf } from '../../catalogue/facts.ts'
import { inMemory } from '../../catalogue/file.ts'
import { rowsIn } from '../../catalogue/rows.ts'
import { factsIn } from '../../catalogue/list/conversation-facts.ts'
import { conversationRowsOf } from '../../catalogue/conversation-rows.ts'
import type { Conversation, ConversationEvent, Store } from '../../index.ts'
import { receiptsChecked } from '../../agent/receipts/audit.ts'
import { isUnproven } from '../../agent/receipts/calls.ts'
import type { CallFacts, EmbeddedFile } from '../../ui/source/embedded/form.ts'
import { usdOf } from '../calls.ts'
import { exportedTitle, type StubbedEvents, withStubs } from '../../transfer/disclosure/withheld.ts'
import { redactMatches } from '../../transfer/disclosure/redact.ts'

export interface HtmlOptions {
  /** Last position that the page includes. */
  readonly at: number
  /** True if the request of every call is included, as it was sent. */
  readonly calls?: boolean | undefined
  /** Pattern of texts to redact. */
  readonly redact?: RegExp | undefined
  /** Events to withhold, from `prepareExport`. Default: none. */
  readonly withheld?: StubbedEvents | undefined
}

/**
 * Yields the JSON of an `EmbeddedFile` in pieces: the data of a page that shows one conversation without a server.
 *
 * Memory use: one event at a time, and a few numbers for each event; with `calls`, also the effective history if replies have receipts.
 */
export async function* gather(
  store: Store,
  whole: Conversation,
  { at, calls = false, redact, withheld = new Map() }: HtmlOptions,
): AsyncGenerator<string, void> {
  const chat = withStubs(whole, withheld)
  let places = 0
  const clean = <A>(value: A, alsoFree?: readonly string[]): A => {
    if (!redact) return value
    const own = redactMatches(value, redact, alsoFree)
    places += own.places
    return own.value
  }
  // The `data` of a note has a schema of its own.
  const answers = clean(await answersOf(store, chat, { at, withheld }), ['data'])
  const head: Pick<EmbeddedFile, 'form' | 'conversation' | 'answers' | 'written'> = {
    form: 2,
    conversation: chat.id,
    answers,
    written: new Date().toISOString(),
  }
  yield `${JSON.stringify(head).slice(0, -1)},"events":[`
  const { tokensAfter, factsNow } = tokenCounter()
  const tokens: number[] = []
  const facts: Record<string, CallFacts> = {}
  const callFactsOf = calls ? factsOfCalls(chat) : () => Promise.resolve({})
  for await (const event of chat.events({ to: at })) {
    Object.assign(facts, clean(await callFactsOf(event)))
    yield `${tokens.length > 0 ? ',' : ''}${JSON.stringify(clean(event))}`
    tokens.push(tokensAfter(event))
  }
  const rest: Pick<EmbeddedFile, 'tokens' | 'facts' | 'calls' | 'redacted'> = {
    tokens,
    facts: { ...clean(factsNow()), id: chat.id },
    ...(calls && { calls: facts }),
    ...(redact && { redacted: places }),
  }
  yield `],${JSON.stringify(rest).slice(1)}`
}

const answersOf = async (
  store: Store,
  chat: Conversation,
  { at, withheld }: { readonly at: number; readonly withheld: StubbedEvents },
): Promise<EmbeddedFile['answers']> => {
  const path = `/conversations/${encodeURIComponent(chat.id)}`
  const isIn = (noted: { readonly at: number }): boolean => noted.at <= at
  const overview = await overviewOf(store, chat, at)
  const links = (await chat.links()).filter(isIn)
  return {
    '/conversations': {
      items: [{ ...overview, title: exportedTitle(overview.title, withheld) }],
      total: 1,
      matching: 1,
    },
    '/workers': { claims: 0, items: [] },
    '/steps': { items: [] },
    [`${path}/notes`]: { items: (await chat.notes()).filter(isIn) },
    [`${path}/links`]: { items: links, total: links.length },
    [`${path}/waiting`]: { items: [] },
  }
}

/**
 * Makes functions that return the size of the context after each event, in tokens, and the facts about the conversation after the last
 * one. They use a separate index in memory, because the index beside the store may not be complete yet.
 */
const tokenCounter = () => {
  const threads = conversationRowsOf(rowsIn(inMemory().db))
  const thread = threads.begin('', undefined, 0)
  const tokensAfter = (event: ConversationEvent): number => {
    threads.take(thread, { event, facts: factsOf(event), size: 0 })
    if (event.position % chunkLength === 0) threads.write()
    return thread.row.tokens
  }
  // Nobody works on a file.
  return { tokensAfter, factsNow: () => factsIn({ ...thread.row, activity: {} }, Date.now()) }
}

/** Makes a function that takes the events in order and returns facts about the calls that each event answers, by name of the call. */
const factsOfCalls = (chat: Conversation) => {
  const check = receiptsChecked((at) => chat.context({ at }))
  return async (event: ConversationEvent): Promise<Readonly<Record<string, CallFacts>>> => {
    const checked = (await check(event)).map(({ call: { number, origin }, found }) => ({
      name: String(number),
      usd: usdOf(origin),
      finding: found,
    }))
    const all = isUnproven(event)
      ? [{ name: `p${event.position}`, usd: usdOf(event.data.origin), finding: undefined }]
      : checked
    return Object.fromEntries(
      all.map(({ name, usd, finding }) => [
        name,
        { ...(usd !== undefined && { usd }), ...(finding && { finding }) },
      ]),
    )
  }
}

interface Overview {
  readonly title: string
}

const overviewOf = async (store: Store, { id, events }: Conversation, at: number): Promise<Overview> => {
  const own = { id, events: at + 1, updated: undefined as string | undefined }
  for await (const { metadata } of events({ from: at, to: at })) own.updated = metadata.time
  for await (const info of store.conversations({ beginning: id }))
    if (info.id === id) return { ...info, ...own }
  return { ...own, title: '' }
}
