// Command palette: actions by name, and targets by number or id.

/** Action or target listed in the command palette. */
export interface PaletteCommand {
  readonly name: string
  /** Key as displayed, for example `Ctrl+K`. */
  readonly key?: string | undefined
  readonly topic: string
}

/**
 * Scores how well a name matches the typed text: 0 is best, undefined means no match. The typed letters must occur in order; letters at
 * the beginning of words score better.
 */
export const scoreOf = (name: string, typed: string): number | undefined => {
  const text = name.toLowerCase()
  const wanted = typed.toLowerCase().trim()
  if (wanted === '') return 0
  const found = text.indexOf(wanted)
  if (found >= 0) return found === 0 ? 0 : /\W/.test(text[found - 1] ?? '') ? 1 : 2 + found
  let at = -1
  let gaps = 0
  for (const letter of wanted.replaceAll(/\s/g, '')) {
    const next = text.indexOf(letter, at + 1)
    if (next < 0) return undefined
    if (next > at + 1 && !/\W/.test(text[next - 1] ?? ' ')) gaps += next - at - 1
    at = next
  }
  return 100 + gaps
}

/** Returns the matching commands, best match first; equally good matches keep their order. */
export const matchCommands = <C extends PaletteCommand>(
  commands: readonly C[],
  typed: string,
): readonly C[] =>
  commands
    .flatMap((command) => {
      const score = scoreOf(command.name, typed)
      return score === undefined ? [] : [{ command, score }]
    })
    .toSorted((one, other) => one.score - other.score)
    .map(({ command }) => command)

/** Target named by the typed text: `61234` or `go to 61234`, `call 61`, `diff 120 149`, `@id`. */
export type PaletteTarget =
  | { readonly kind: 'position'; readonly position: number }
  | { readonly kind: 'call'; readonly number: number }
  | { readonly kind: 'diff'; readonly from: number; readonly to: number }
  | { readonly kind: 'conversation'; readonly id: string }

const patterns: readonly (readonly [RegExp, (found: RegExpExecArray) => PaletteTarget])[] = [
  [/^(?:go to |:)?(\d{1,15})$/, ([, position]) => ({ kind: 'position', position: Number(position) })],
  [/^call (\d{1,15})$/, ([, number]) => ({ kind: 'call', number: Number(number) })],
  [
    /^diff (\d{1,15})(?: |-|–|\.\.)(\d{1,15})$/,
    ([, from, to]) => ({ kind: 'diff', from: Number(from), to: Number(to) }),
  ],
  [/^(?:@|id )(\S+)$/, ([, id = '']) => ({ kind: 'conversation', id })],
]
export const placeIn = (typed: string): PaletteTarget | undefined => {
  for (const [pattern, place] of patterns) {
    const found = pattern.exec(typed.trim())
    if (found) return place(found)
  }
  return undefined
}
