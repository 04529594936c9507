import type {
  FollowConversations,
  FollowedEvent,
  ListOptions,
  OpenStepInfo,
  ConversationInfo,
  Roster,
  RosterOptions,
  StreamedEvent,
} from '../../index.ts'
import { apiPathOf } from './api-path.ts'
import { conversation } from './conversation.ts'
import { ledgerStatus, costOfAll } from './investigating-client.ts'
import { resumeStream } from './streams.ts'
import { pause } from './pause.ts'
import { type ClientOptions, transport } from './transport.ts'
import { searchPages, whole } from './turn-method.ts'
import type { Client, StepsQuery, Workers } from './types.ts'

/**
 * Opens a client of `palimpsest serve`, for browsers and Node, with the methods of the library over HTTP. Opening sends no request.
 * Methods reject with typed errors or throw them. A request that may have been lost with a broken connection is repeated; a repeated
 * command keeps its command id.
 *
 * @example
 * import { openClient } from 'palimpsest/client'
 *
 * const task = openClient('http://127.0.0.1:4141').conversation('task-42')
 * await task.append({ role: 'user', content: 'Why does the parser fail?' })
 * for (const { position, kind } of await task.effective()) console.log(position, kind)
 */
export const openClient = (url: string, options: ClientOptions = {}): Client => {
  const server = transport(url, options)
  const { get } = server

  async function* conversations({ sort, beginning }: Omit<ListOptions, 'ids'> = {}): AsyncGenerator<
    ConversationInfo,
    void
  > {
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      type Page = {
        readonly next?: string
        readonly isComplete: boolean
        readonly problem?: string
        readonly items: readonly ConversationInfo[]
      }
      const query = { order: sort ?? 'begun', beginning, limit: 200, cursor }
      const ask = (): Promise<Page> => get('/conversations', {}, query)
      // In any order other than the store's own, the server lists only indexed conversations.
      const page: Page = await (isFirst && (sort === 'id' || sort === 'activity') ? whole(ask) : ask())
      yield* page.items
      cursor = page.next
    }
  }
  async function* steps(given: StepsQuery = {}): AsyncGenerator<OpenStepInfo, void> {
    const page: { readonly items: readonly OpenStepInfo[] } = await get('/steps', {}, given)
    yield* page.items
  }
  async function* workers({ every, signal }: RosterOptions = {}): AsyncGenerator<Workers, void> {
    while (!signal?.aborted) {
      type Answer = { readonly claims: number; readonly items: Roster['workers'] }
      const answer: Answer = await get('/workers', {}, {}, signal)
      yield { workers: answer.items, claims: answer.claims }
      if (every === undefined) return
      await pause(every, signal)
    }
  }
  async function* follow({ after, from, prefixes = [''], signal }: FollowConversations = {}) {
    const [beginning = '', ...more] = prefixes
    if (more.length > 0) throw new TypeError('an event stream follows one prefix: open one stream for each')
    const path = apiPathOf('/events', {}, { after, from, beginning: beginning || undefined })
    for await (const { id = '', data } of resumeStream(server, { method: 'GET', path, signal })) {
      const followed: FollowedEvent =
        data === undefined
          ? { type: 'checkpoint', checkpoint: id }
          : { type: 'event', checkpoint: id, ...(data as Omit<StreamedEvent, 'checkpoint'>) }
      yield followed
    }
  }

  return {
    url: server.url,
    conversation: (id) => conversation(server, id),
    conversations,
    search: (text, its) => searchPages(server, undefined, text, its),
    steps,
    audit: () => ledgerStatus(server),
    cost: () => costOfAll(server),
    workers,
    follow,
  }
}

export type {
  BisectionSummary,
  IntegrityReport,
  InvestigatingClient,
  LedgerReport,
} from './investigating-client.ts'
export { isError } from './errors.ts'
export type { ClientError, RequestRefusal } from './errors.ts'
export type { ClientOptions } from './transport.ts'
export type {
  ApprovalInput,
  AskOptions,
  Client,
  ConversationClient,
  DiffReader,
  DryRun,
  EventField,
  EventsQuery,
  EventsReader,
  FindOptions,
  StreamOptions,
  FullDiff,
  RequestDiff,
  SearchHit,
  StepsQuery,
  TurnMessage,
  Workers,
} from './types.ts'
