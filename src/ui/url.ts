import type { PathOf, QueryOf } from '../server/client/api.ts'
import { type ApiPath, fillPath } from '../server/client/api-path.ts'

// Addresses of the page. An address encodes the whole view, so a link to it is a link to the view.

/** Panes of the conversation page: both columns, the full history only, or the effective history only. */
export const panes = ['both', 'all', 'model'] as const
export type Pane = (typeof panes)[number]

/** View of a conversation, as encoded in its address. */
export interface ConversationViewState {
  /** Current position; undefined to follow the conversation's last position. */
  readonly at?: number | undefined
  readonly pane: Pane
  /** Positions of the expanded markers and abandoned ranges, or `all`. */
  readonly open: readonly number[] | 'all'
  /** Form of the texts; undefined if the user's own setting applies. */
  readonly text?: 'exact' | 'rendered' | undefined
  /** Position of the selected row. */
  readonly sel?: number | undefined
  /** Text to search for in the conversation. */
  readonly find?: string | undefined
}

export const noView: ConversationViewState = { pane: 'both', open: [] }

const forms = ['exact', 'rendered'] as const

const whole = (text: string | null | undefined): number | undefined =>
  text && /^(?:-1|\d{1,15})$/.test(text) ? Number(text) : undefined

/** Parses a view from a query string. Missing or invalid fields take their values from `noView`. */
export const viewOf = (search: string): ConversationViewState => {
  const query = new URLSearchParams(search)
  const open = query.get('open')
  return {
    at: whole(query.get('at')),
    pane: panes.find((pane) => pane === query.get('pane')) ?? noView.pane,
    open: open === 'all' ? 'all' : (open ?? '').split(',').flatMap((text) => whole(text) ?? []),
    text: forms.find((form) => form === query.get('text')),
    sel: whole(query.get('sel')),
    find: query.get('find') || undefined,
  }
}

/** Returns the query string of a view, including `?`; empty for `noView`. Equal views have equal query strings. */
export const searchOf = ({ at, pane, open, text, sel, find }: ConversationViewState): string =>
  queryOf({
    at,
    pane: pane === noView.pane ? undefined : pane,
    open: open === 'all' ? open : open.toSorted((one, other) => one - other).join(','),
    text,
    sel,
    find,
  })

/** Returns a query string of the fields that have a value, in order, including `?`; empty if no field has a value. */
export const queryOf = (fields: Readonly<Record<string, string | number | boolean | undefined>>): string => {
  const given = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined || value === ''
      ? []
      : [`${name}=${encodeURIComponent(value).replaceAll('%2C', ',')}`],
  )
  return given.length > 0 ? `?${given.join('&')}` : ''
}

/** Address within the page: its path and query string. */
export interface PageAddress {
  readonly path: string
  readonly search: string
}

/** Parses the fragment of a single-file page as an address. The user may have typed any text there. */
export const placeIn = (text: string): PageAddress => {
  const end = text.search(/[?#]/)
  const path = end < 0 ? text : text.slice(0, end)
  const search = end < 0 ? '' : text.slice(end).replace(/#.*$/s, '')
  return { path: path === '' ? '/' : path, search: search === '?' ? '' : search }
}

/** End of the path of an API route whose only path parameter is the conversation's id. */
type PartOf<T> = T extends `/conversations/{id}${infer Part}`
  ? Part extends `${string}{${string}`
    ? never
    : Part
  : never

/** Returns the API path for a route of a conversation. */
export const apiOf = <P extends PartOf<PathOf>>(
  id: string,
  part: P,
  query?: QueryOf<`/conversations/{id}${P}`>,
): ApiPath<`/conversations/{id}${P}`> =>
  fillPath(`/conversations/{id}${part}`, { id }, query) as ApiPath<`/conversations/{id}${P}`>

export const hrefs = {
  list: '/',
  workers: '/workers',
  conversation: (id: string, view: Partial<ConversationViewState> = {}): string =>
    `/c/${encodeURIComponent(id)}${searchOf({ ...noView, ...view })}`,
  diff: (id: string, from: number, to: number): string =>
    `/c/${encodeURIComponent(id)}/diff${queryOf({ from, to })}`,
  /**
   * Returns the address of the table of model calls.
   *
   * @param view first position to list, and the open turns and calls (calls/open.ts)
   */
  calls: (
    id: string,
    { from, open }: { readonly from?: number | undefined; readonly open?: string } = {},
  ): string => `/c/${encodeURIComponent(id)}/calls${queryOf({ from, open })}`,
  /**
   * Returns the address of a model call's request.
   *
   * @param call number of the call, or `p` and the position of a reply without a receipt
   * @param as view of the request; default: `reading`
   */
  call: (id: string, call: number | string, as?: string): string =>
    `/c/${encodeURIComponent(id)}/calls/${call}${queryOf({ as })}`,
  compare: (id: string, other: string, at?: number): string =>
    `/c/${encodeURIComponent(id)}/compare${queryOf({ with: other, at })}`,
  /** Returns the address of the audit page for a conversation, or for the store if `id` is undefined. */
  audit: (id?: string): string => (id === undefined ? '/audit' : `/c/${encodeURIComponent(id)}/audit`),
  /**
   * Returns the address of the page that shows a conversation's model calls and tokens.
   *
   * @param policy form fields of another policy to try
   */
  tokens: (id: string, policy: Readonly<Record<string, string>> = {}): string =>
    `/c/${encodeURIComponent(id)}/tokens${queryOf(policy)}`,
  /**
   * Returns the address of a bisection.
   *
   * @param bisection id of the bisection; if undefined, the function returns the address of the page that lists all bisections and has
   *   a form for a new one
   */
  bisect: (
    id: string,
    bisection?: string,
    ends: { readonly good?: number; readonly bad?: number } = {},
  ): string =>
    `/c/${encodeURIComponent(id)}/bisect${bisection === undefined ? '' : `/${encodeURIComponent(bisection)}`}${queryOf({ ...ends })}`,
}

export type Parameters = Readonly<Record<string, string>>

/** Returns the parameters of a path that matches the pattern (`/c/:id/calls/:number`); undefined if the path does not match. */
export const matchPath = (pattern: string, path: string): Parameters | undefined => {
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

/** Returns the conversation to which a path of the page belongs. */
export const conversationIn = (path: string): string | undefined => {
  const [, page, id = ''] = path.split('/')
  return page === 'c' && id !== '' ? decoded(id) : undefined
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
