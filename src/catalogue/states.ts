import type { Kind } from './facts.ts'
import { momentAt, type Prompt, type Shown, type Weave } from './weave.ts'

/**
 * Whether the model sees an entry: `shown`; `hidden` by the marker `by`, for a marker by the restore that took it back, for a system prompt
 * by the configuration that replaced it; `abandoned` by the rewind `by`.
 */
export type State =
  | { readonly state: 'shown' }
  | { readonly state: 'hidden' | 'abandoned'; readonly by: number }

/** An event that changes more than the end of what is shown. */
export interface Turning {
  readonly position: number
  readonly kind: Kind
  /** Where a rewind goes to. */
  readonly target: number
}

/** What of a conversation's past is looked at from a position. */
export interface Sight {
  readonly rewinds: readonly Turning[]
  /** Markers and restores on the path. */
  readonly turned: readonly Turning[]
}

/** @param turnings those of the conversation, ascending */
export const sightAt = (turnings: readonly Turning[], at: number): Sight => {
  const rewinds: Turning[] = []
  const turned: Turning[] = []
  let end = at
  for (const turning of turnings.toReversed()) {
    const { kind, position, target } = turning
    if (kind === 'W' && position <= at) rewinds.push(turning)
    if (position > end) continue
    if (kind === 'W') end = target
    else turned.push(turning)
  }
  return { rewinds: rewinds.toReversed(), turned: turned.toReversed() }
}

/** The state of an entry as seen from a position. @param sight from there: asked for if the entry is not shown */
export const stateAt = (weave: Weave, entry: number, at: number, sight: () => Sight): State => {
  const { shown: list, prompt } = momentAt(weave, at)
  if (isIn(list, entry)) return shown
  const configured = configuredIn(prompt, entry)
  if (configured) return configured
  const { rewinds, turned } = sight()
  if (!isOnPath(rewinds, entry, at)) return { state: 'abandoned', by: leftBy(rewinds, entry) }
  // A marker that hides nothing was never shown.
  return { state: 'hidden', by: hidingOf(weave, turned, entry)?.position ?? entry }
}
const shown: State = { state: 'shown' }

/** What took an entry away that is not shown at the end. Until something is restored, what is gone does not come back: half of what is left need not be looked at each time. */
const hidingOf = (weave: Weave, turned: readonly Turning[], entry: number): Turning | undefined => {
  const first = turned.findIndex(({ position }) => position > entry)
  const isShownAfter = (index: number): boolean =>
    isIn(momentAt(weave, index < first ? entry : (turned[index]?.position ?? entry)).shown, entry)
  if (first < 0) return undefined
  for (let end = turned.length; end > first;) {
    let begin = end - 1
    while (begin >= first && turned[begin]?.kind !== 'R') begin--
    if (isShownAfter(begin)) {
      let low = begin + 1
      for (let high = end - 1; low < high;) {
        const middle = (low + high) >> 1
        if (isShownAfter(middle)) low = middle + 1
        else high = middle
      }
      return turned[low]
    }
    if (begin >= first && isShownAfter(begin - 1)) return turned[begin]
    end = begin
  }
  return undefined
}

const isIn = (list: Shown | undefined, entry: number): boolean => {
  for (let at = list; at; at = at.before) if (at.piece.position === entry) return true
  return false
}

/** What became of a configuration; undefined if the entry is not one on this path. */
const configuredIn = (prompt: Prompt | undefined, entry: number): State | undefined => {
  let later: Prompt | undefined
  for (let at = prompt; at && at.position >= entry; at = at.before) {
    if (at.position === entry) return later ? { state: 'hidden', by: later.position } : shown
    later = at
  }
  return undefined
}

/** Whether a position was not rewound away. */
const isOnPath = (rewinds: readonly Turning[], position: number, at: number): boolean => {
  let end = at
  for (const rewind of rewinds.toReversed()) {
    if (rewind.position > end) continue
    if (rewind.position < position) break
    end = rewind.target
  }
  return position <= end
}

/** The last rewind that left the path of a position. */
const leftBy = (rewinds: readonly Turning[], entry: number): number => {
  const later = rewinds.filter(({ position }) => position > entry)
  /** Whether the entry is on the path after each. */
  const isOn: boolean[] = []
  let by = entry
  for (const [index, { position, target }] of later.entries()) {
    let before = index - 1
    while ((later[before]?.position ?? -1) > target) before--
    isOn.push(isOn[before] ?? entry <= target)
    if ((isOn[index - 1] ?? true) && !isOn[index]) by = position
  }
  return by
}
