import type { CallTurn } from './turns.ts'

// Open turns and calls, as encoded in the address: `t29` is the turn that begins at position 29, `16` and `p17` are calls. Without a
// list, all turns are open if there are few calls, and otherwise those that wait for somebody, or the last one.

const fewCalls = 50

export const turnName = ({ first }: Pick<CallTurn, 'first'>): string => `t${first}`

/** Returns the names of open turns and calls. The turn of an open call is open as well. */
export const openIn = (search: string, turns: readonly CallTurn[]): ReadonlySet<string> => {
  const listed = new URLSearchParams(search).get('open')
  const names = new Set((listed ?? '').split(',').filter((name) => name !== '' && name !== 'none'))
  const isByDefault = listed === null || ![...names].some((name) => name.startsWith('t'))
  if (isByDefault && listed !== 'none') for (const turn of defaults(turns, names)) names.add(turnName(turn))
  return names
}

const defaults = (turns: readonly CallTurn[], names: ReadonlySet<string>): readonly CallTurn[] => {
  if (turns.reduce((sum, { rows }) => sum + rows.length, 0) <= fewCalls) return turns
  const asked = turns.filter(({ rows }) => rows.some(({ name }) => names.has(name)))
  if (asked.length > 0) return asked
  const waiting = turns.filter(({ waits }) =>
    waits.some((tool) => tool.wait?.decision === undefined && !tool.time),
  )
  return waiting.length > 0 ? waiting : turns.slice(-1)
}

export const isOpen = (open: ReadonlySet<string>, turn: CallTurn): boolean => open.has(turnName(turn))

/** Returns the names after one was opened or closed. */
export const toggleName = (
  open: ReadonlySet<string>,
  name: string,
  turns: readonly CallTurn[],
): ReadonlySet<string> => {
  const names = new Set(open)
  if (!names.delete(name)) names.add(name)
  else if (name.startsWith('t'))
    for (const row of turns.find((turn) => turnName(turn) === name)?.rows ?? []) names.delete(row.name)
  return names
}

export const openText = (open: ReadonlySet<string>): string =>
  open.size === 0 ? 'none' : [...open].join(',')
