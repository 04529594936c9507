import type { PathOf, QueryOf } from '../server/client/api.ts'
import { type ApiPath, filledPath } from '../server/client/api-path.ts'

// What the page shows is in its address: a link to it is a link to this view.

/** Both columns, only what happened, or only what the model sees. */
export const panes = ['both', 'all', 'model'] as const
export type Pane = (typeof panes)[number]

/** What is seen of a conversation. */
export interface ConversationViewState {
  /** The position looked from. Undefined: the last one, and it follows. */
  readonly at?: number | undefined
  readonly pane: Pane
  /** The markers and rewinds whose events are shown; `all` of them. */
  readonly open: readonly number[] | 'all'
  readonly text: 'exact' | 'rendered'
  /** The position of the selected row. */
  readonly sel?: number | undefined
  /** What is searched for in the conversation. */
  readonly find?: string | undefined
}

export const noView: ConversationViewState = { pane: 'both', open: [], text: 'exact' }

const whole = (text: string | null | undefined): number | undefined =>
  text && /^(?:-1|\d{1,15})$/.test(text) ? Number(text) : undefined

/** The view that a query names. What it does not name, or names wrongly, is as in `noView`. */
export const viewOf = (search: string): ConversationViewState => {
  const query = new URLSearchParams(search)
  const open = query.get('open')
  return {
    at: whole(query.get('at')),
    pane: panes.find((pane) => pane === query.get('pane')) ?? noView.pane,
    open: open === 'all' ? 'all' : (open ?? '').split(',').flatMap((text) => whole(text) ?? []),
    text: query.get('text') === 'rendered' ? 'rendered' : 'exact',
    sel: whole(query.get('sel')),
    find: query.get('find') || undefined,
  }
}

/** The query of a view, with its `?`; empty for `noView`. The same view has the same query. */
export const searchOf = ({ at, pane, open, text, sel, find }: ConversationViewState): string =>
  queryOf({
    at,
    pane: pane === noView.pane ? undefined : pane,
    open: open === 'all' ? open : open.toSorted((one, other) => one - other).join(','),
    text: text === noView.text ? undefined : text,
    sel,
    find,
  })

/** A query of the fields that have a value, in their order, with its `?`; empty if there is none. */
export const queryOf = (fields: Readonly<Record<string, string | number | boolean | undefined>>): string => {
  const given = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined || value === ''
      ? []
      : [`${name}=${encodeURIComponent(value).replaceAll('%2C', ',')}`],
  )
  return given.length > 0 ? `?${given.join('&')}` : ''
}

/** An address of the page. */
export interface PageAddress {
  readonly path: string
  readonly search: string
}

/** The address that a file has after its `#`, whatever somebody has typed there. */
export const placeIn = (text: string): PageAddress => {
  const end = text.search(/[?#]/)
  const path = end < 0 ? text : text.slice(0, end)
  const search = end < 0 ? '' : text.slice(end).replace(/#.*$/s, '')
  return { path: path === '' ? '/' : path, search: search === '?' ? '' : search }
}

/** What the API has of a conversation, by the end of its path. */
type PartOf<T> = T extends `/conversations/{id}${infer Part}`
  ? Part extends `${string}{${string}`
    ? never
    : Part
  : never

/** Gives the API's path of a part of a conversation. */
export const apiOf = <P extends PartOf<PathOf>>(
  id: string,
  part: P,
  query?: QueryOf<`/conversations/{id}${P}`>,
): ApiPath<`/conversations/{id}${P}`> =>
  filledPath(`/conversations/{id}${part}`, { id }, query) as ApiPath<`/conversations/{id}${P}`>

/** The addresses of the page. */
export const hrefs = {
  list: '/',
  workers: '/workers',
  conversation: (id: string, view: Partial<ConversationViewState> = {}): string =>
    `/c/${encodeURIComponent(id)}${searchOf({ ...noView, ...view })}`,
  diff: (id: string, from: number, to: number): string =>
    `/c/${encodeURIComponent(id)}/diff${queryOf({ from, to })}`,
  /** @param call its number, or `p` and the position of a reply without a receipt @param as how it is shown, if not for reading */
  call: (id: string, call: number | string, as?: string): string =>
    `/c/${encodeURIComponent(id)}/calls/${call}${queryOf({ as })}`,
  compare: (id: string, other: string, at?: number): string =>
    `/c/${encodeURIComponent(id)}/compare${queryOf({ with: other, at })}`,
  /** Of a conversation, or of the store. */
  audit: (id?: string): string => (id === undefined ? '/audit' : `/c/${encodeURIComponent(id)}/audit`),
  /** @param policy another one, by the fields of its form */
  tokens: (id: string, policy: Readonly<Record<string, string>> = {}): string =>
    `/c/${encodeURIComponent(id)}/tokens${queryOf(policy)}`,
  /** @param bisection its id; without one, those that there are, and a form for another one */
  bisect: (
    id: string,
    bisection?: string,
    ends: { readonly good?: number; readonly bad?: number } = {},
  ): string =>
    `/c/${encodeURIComponent(id)}/bisect${bisection === undefined ? '' : `/${encodeURIComponent(bisection)}`}${queryOf({ ...ends })}`,
}

export type Parameters = Readonly<Record<string, string>>

/** The parameters of a path, if it is of the pattern (`/c/:id/calls/:number`). */
export const matched = (pattern: string, path: string): Parameters | undefined => {
  const wanted = pattern.split('/')
  const given = path.replace(/(?<=.)\/$/, '').split('/')
  if (wanted.length !== given.length) return undefined
  const found: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const text = decoded(given[index] ?? '')
    if (text === undefined) return undefined
    if (!part.startsWith(':')) {
      if (part !== text) return undefined
    } else if (text === '') return undefined
    else found[part.slice(1)] = text
  }
  return found
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
