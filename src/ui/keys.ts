// Table of all keys, used for handling keys, for the key list and for the command palette.

/** Sections of the key list, in display order. */
export const topics = ['Move', 'Look', 'Find', 'Act', 'Page'] as const
export type Topic = (typeof topics)[number]

interface Binding {
  /** Keys (`J` for Shift+j) or key sequences (`g g`) of the action. */
  readonly keys: readonly string[]
  /** Description of the action, for the key list and the command palette. */
  readonly does: string
  readonly topic: Topic
}

const of =
  (topic: Topic) =>
  (does: string, ...keys: string[]): Binding => ({ keys, does, topic })
const move = of('Move')
const look = of('Look')
const find = of('Find')
const act = of('Act')
const page = of('Page')

/** All actions with their keys. Each page registers handlers for the actions it supports (`useActions`); other actions are not listed. */
export const keymap = {
  next: move('next position', 'j'),
  previous: move('previous position', 'k'),
  nextTurn: move('next turn', 'J', 'PageDown'),
  previousTurn: move('previous turn', 'K', 'PageUp'),
  nextMark: move('next marker, rewind or restore', ']'),
  previousMark: move('previous marker, rewind or restore', '['),
  nextMarker: move('select the next marker', '>'),
  previousMarker: move('select the previous marker', '<'),
  nextError: move('select the next error', '.'),
  previousError: move('select the previous error', ','),
  nextCall: move('next call of the model', '}'),
  previousCall: move('previous call of the model', '{'),
  start: move('go to the start', 'g g', 'Home'),
  head: move('go to the head, and follow it', 'G', 'End'),
  goTo: move('go to a position …', ':'),
  rowDown: move('select the next row', 'ArrowDown'),
  rowUp: move('select the previous row', 'ArrowUp'),
  goToRow: move('go to the selected row', 'Enter'),
  cover: move('go to the marker that covers the selected row', 'c'),
  paneAll: look('show everything that happened', '1'),
  paneBoth: look('show both sides', '2'),
  paneModel: look('show what the model sees', '3'),
  open: look('open or close what is hidden here', 'e'),
  openAll: look('open or close all that is hidden', 'E'),
  text: look('exact or rendered text', 'x'),
  whole: look('open the selected row in full', 'o'),
  diff: look('compare with another position …', 'd'),
  request: look('show the request of this call', 'r'),
  why: look('why the model saw what it saw', 'w'),
  compare: look('compare with another conversation …', 'v'),
  inspector: look('show or hide the inspector', 'i'),
  audit: look('audit', 'g a'),
  tokens: look('tokens, costs and the cache', 'g k'),
  bisect: look('find out when it went wrong', 'b'),
  marks: look('list markers and rewinds', 'l'),
  pin: look('pin this position', 'm'),
  pins: look('list the pins', "'"),
  search: find('search', '/'),
  nextHit: find('next hit', 'n'),
  previousHit: find('previous hit', 'N'),
  rewind: act('rewind to here …', 'R'),
  fork: act('fork from here …', 'F'),
  condense: act('condense …', 'C'),
  truncate: act('truncate …', 'T'),
  restore: act('restore …', 'U'),
  undo: act('undo', 'z'),
  redo: act('redo', 'Z'),
  erase: act('erase …', 'X'),
  approve: act('approve …', 'a'),
  isGood: act('it is still good here', '+', '='),
  isBad: act('it is bad here', '-'),
  skip: act('cannot tell here', 's'),
  evidence: page('save evidence …', 'g s'),
  copyLink: page('copy a link to this view', 'y'),
  copyContent: page('copy the content of the selected row', 'Y'),
  export: page('export this view …', 'g e'),
  conversations: page('go to the conversations', 'g c'),
  workers: page('go to the workers', 'g w'),
  theme: page('switch the theme: light, dark or system', 'g t'),
  singleKeys: page('switch single-letter keys on or off', 'Control+.'),
  palette: page('do anything by name', 'Control+k'),
  keys: page('list the keys', '?'),
} as const satisfies Readonly<Record<string, Binding>>

export type Action = keyof typeof keymap
export const actions = Object.keys(keymap) as readonly Action[]

const byKeys: ReadonlyMap<string, Action> = new Map(
  actions.flatMap((action) => keymap[action].keys.map((keys) => [keys, action] as const)),
)
const beginnings: ReadonlySet<string> = new Set(
  [...byKeys.keys()].flatMap((keys) => (keys.includes(' ') ? [keys.slice(0, keys.indexOf(' '))] : [])),
)

export interface KeyPress {
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
  readonly altKey: boolean
}

/** Returns the name of a key as used in the key table; undefined for a combination with Alt, which is left to the browser. */
export const nameOf = ({ key, ctrlKey, metaKey, altKey }: KeyPress): string | undefined => {
  // Many keyboards have brackets and braces under AltGr (which is Control and Alt) or Option.
  if (altKey) return /^[[\]{}]$/.test(key) ? key : undefined
  return ctrlKey || metaKey ? `Control+${key.toLowerCase()}` : key
}

/** Meaning of a key: an action, the first key of a sequence, or nothing. */
export type Meaning = { readonly action: Action } | { readonly began: string } | undefined

/** Returns the meaning of a key. `began` is the first key of a sequence (`g`), if one was pressed before. */
export const meaningOf = (name: string, began: string | undefined): Meaning => {
  const action = (began === undefined ? undefined : byKeys.get(`${began} ${name}`)) ?? byKeys.get(name)
  if (action !== undefined) return { action }
  return beginnings.has(name) ? { began: name } : undefined
}

/** Reports whether a key types a character. Such keys do not trigger actions while the user types, and can be switched off (WCAG 2.1.4). */
export const isCharacter = (name: string): boolean => /^.$/u.test(name)

const shown: Readonly<Record<string, string>> = {
  ArrowDown: '↓',
  ArrowUp: '↑',
  PageDown: 'PgDn',
  PageUp: 'PgUp',
  Enter: '⏎',
}
/** Formats a key or key sequence for display. */
export const formatKey = (keys: string): string =>
  keys
    .split(' ')
    .map(
      (key) =>
        shown[key] ?? key.replace(/^Control\+(.)$/, (_, letter: string) => `Ctrl+${letter.toUpperCase()}`),
    )
    .join(' ')
