import { blocksOf, clippedEvent, clippedItem, diff, effective, full, path, render } from '../../../core.ts'
import { matchPath, type Parameters } from '../../url.ts'
import { callList, findSentCall } from './calls.ts'
import type { EmbeddedFile } from './form.ts'
import { summarizeHidden } from './hidden-states.ts'
import { filterList, rowOf } from './list.ts'
import { outlineOf, overviewOf } from './outline.ts'
import { searchEmbedded } from './search.ts'
import { storyOf } from './story.ts'

// API responses, computed from the embedded events with the same functions as on the server.

/** API request to an embedded file, with its path parameters and query. */
interface Question {
  readonly file: EmbeddedFile
  readonly params: Parameters
  readonly number: (name: string, otherwise: number) => number
  readonly query: URLSearchParams
}
type Answer = (question: Question) => unknown

/** Returns the ranges of positions that the path leaves out, each with the last rewind that abandoned it. */
const jumpsAt = ({ events }: EmbeddedFile, at: number) => {
  const jumps: { from: number; to: number; by: number }[] = []
  let expected = 0
  for (const position of [...path(events, at), at + 1]) {
    const isSkipped = position > expected
    const by = events.slice(expected, position).findLast(({ type }) => type === 'Rewound')?.position
    if (isSkipped && by !== undefined) jumps.push({ from: expected, to: position - 1, by })
    expected = position + 1
  }
  return jumps
}

const answers: Readonly<Record<string, Answer>> = {
  '/conversations/:id': ({ file: { conversation, events, tokens } }) => {
    const { items, layout } = effective(events, events.length - 1)
    const { model } = layout.configuration ?? {}
    return {
      id: conversation,
      position: events.length - 1,
      items: items.length,
      tokens: tokens.at(-1) ?? 0,
      ...(model !== undefined && { model }),
      queued: 0,
      waiting: 0,
    }
  },
  '/conversations/:id/about': ({ file }) => aboutOf(file),
  '/conversations/:id/calls': ({ file }) => callList(file),
  '/conversations/:id/calls/:call': ({ file, params: { call = '' } }) => findSentCall(file, call),
  '/conversations/:id/events': ({ file: { events }, number }) => {
    const from = number('from', 0)
    const next = from + number('limit', 200)
    const clip = number('clip', Infinity)
    const items = events.slice(from, next).map((event) => clippedEvent(event, clip))
    return { last: events.length - 1, ...(next < events.length && { next }), items }
  },
  '/conversations/:id/events/:position': ({ file: { events }, params: { position } }) =>
    events[Number(position)],
  '/conversations/:id/effective': ({ file, number }) => {
    const at = number('at', file.events.length - 1)
    const offset = number('offset', 0)
    const next = offset + number('limit', 200)
    const clip = number('clip', Infinity)
    const { items } = effective(file.events, at)
    return {
      at,
      total: items.length,
      ...(next < items.length && { next }),
      items: items.slice(offset, next).map((item) => clippedItem(item, clip)),
      jumps: jumpsAt(file, at),
    }
  },
  '/conversations/:id/full': ({ file: { events }, number, query }) => {
    const at = number('at', events.length - 1)
    const clip = number('clip', Infinity)
    const abandoned = query.get('abandoned') === 'true'
    const last = number('last', 200)
    const entries = full(events, { at, abandoned, last: last + 1, before: number('before', Infinity) })
    const items = entries.slice(-last)
    const isAll = items.length === entries.length
    return {
      at,
      ...(!isAll && { next: items[0]?.position }),
      items: items.map((entry) => clippedItem(entry, clip)),
    }
  },
  '/conversations/:id/request': ({ file: { events }, number, query }) => {
    const at = number('at', events.length - 1)
    const now = effective(events, at)
    const { system, tools } = now.layout.configuration ?? {}
    const cache = query.get('cache') === '1h' ? '1h' : undefined
    return { at, ...(system && { system }), ...(tools && { tools }), ...render(now, cache && { cache }) }
  },
  '/conversations/:id/diff': ({ file: { events }, number }) =>
    diff(events, number('from', -1), number('to', events.length - 1)),
  '/conversations/:id/outline': ({ file, number }) => ({
    ...outlineOf(file, number('from', 0), number('to', file.events.length - 1)),
    about: aboutOf(file),
  }),
  '/conversations/:id/overview': ({ file, number }) => overviewOf(file, number('buckets', 1_200)),
  '/conversations/:id/hidden': ({ file: { events }, query }) => ({
    items: (query.get('markers') ?? '')
      .split(',')
      .flatMap((marker) => summarizeHidden(events, Number(marker)) ?? []),
  }),
  '/conversations/:id/markers/:marker': ({ file: { conversation, events }, params: { marker } }) =>
    storyOf(conversation, events, Number(marker)),
  '/conversations/:id/search': (question) => searched(question),
  '/search': (question) => searched(question),
}

const aboutOf = (file: EmbeddedFile): object => {
  const last = file.events.length - 1
  const [firstError] = outlineOf(file, 0, last).failed
  return { ...rowOf(file), ...(firstError !== undefined && { firstError }), last, indexed: last }
}

const searched = ({ file, number, query }: Question) =>
  searchEmbedded(file, query.get('q') ?? '', number('limit', 50), number('cursor', Infinity))

/** Returns the API response for a path with a query; undefined if the file cannot provide it. */
export const answerTo = (file: EmbeddedFile, asked: string): unknown => {
  const { pathname, searchParams: query } = new URL(asked, 'file:///')
  const given = file.answers[pathname]
  if (given !== undefined) return pathname === '/conversations' ? filterList(file, query) : given
  const number = (name: string, otherwise: number): number => {
    const text = query.get(name)
    return text === null ? otherwise : Number(text)
  }
  for (const [pattern, answer] of Object.entries(answers)) {
    const params = matchPath(pattern, pathname)
    if (params && (params['id'] ?? file.conversation) === file.conversation)
      return answer({ file, params, number, query })
  }
  return undefined
}

/** Returns a content block of an event as typed bytes, in the same form as the server's `blocks` route; undefined if it does not exist. */
export const blockAt = ({ events }: EmbeddedFile, asked: string): Blob | undefined => {
  const { pathname, searchParams } = new URL(asked, 'file:///')
  const params = matchPath('/conversations/:id/events/:position/blocks/:index', pathname)
  const event = params && events[Number(params['position'])]
  const block = event && blocksOf(event)[Number(params['index'])]
  if (!block) return undefined
  const json = new Blob([JSON.stringify(block)], { type: 'application/json' })
  if (searchParams.get('as') === 'json') return json
  if (block['type'] === 'text')
    return new Blob([String(block['text'])], { type: 'text/plain; charset=utf-8' })
  return (block['type'] === 'image' ? pictureIn(block['source']) : undefined) ?? json
}

const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

const pictureIn = (source: unknown): Blob | undefined => {
  const { media_type: type, data } = (source ?? {}) as Readonly<Record<string, unknown>>
  if (typeof type !== 'string' || typeof data !== 'string' || !pictures.has(type)) return undefined
  try {
    return new Blob([Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))], { type })
  } catch {
    return undefined
  }
}
