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

/**
 * The state of an entry as seen from a position.
 *
 * @param turnings those of the conversation, ascending
 */
export const stateAt = (weave: Weave, turnings: readonly Turning[], entry: number, at: number): State => {
  const { shown: list, prompt } = momentAt(weave, at)
  if (isIn(list, entry)) return shown
  const configured = configuredIn(prompt, entry)
  if (configured) return configured
  const rewinds = turnings.filter(({ kind, position }) => kind === 'W' && position <= at)
  if (!isOnPath(rewinds, entry, at)) return { state: 'abandoned', by: leftBy(rewinds, entry) }
  const hiding = turnings.findLast(
    ({ kind, position }) =>
      kind !== 'W' &&
      position > entry &&
      position <= at &&
      isIn(momentAt(weave, position - 1).shown, entry) &&
      !isIn(momentAt(weave, position).shown, entry) &&
      isOnPath(rewinds, position, at),
  )
  // A marker that hides nothing was never shown.
  return { state: 'hidden', by: hiding?.position ?? entry }
}
const shown: State = { state: 'shown' }

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
const leftBy = (rewinds: readonly Turning[], entry: number): number =>
  rewinds.findLast(
    ({ position }) => isOnPath(rewinds, entry, position - 1) && !isOnPath(rewinds, entry, position),
  )?.position ?? entry
