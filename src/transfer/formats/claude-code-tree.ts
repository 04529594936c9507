import type { NewMessage } from '../../commands/command.ts'
import type { ImportAction, ComposedMessage } from './plan.ts'
import { blocksOf } from './actions.ts'
import { type Block, isBlock } from '../../events/blocks.ts'

/** An action in the session's tree. `first` is the ref of the first action on the path to it. */
export interface Node {
  readonly ref: string
  readonly index: number
  readonly first: string
  readonly parent: Node | undefined
  readonly round: Round | undefined
  /**
   * True if the action contains tool results or directly follows an action that does. At these points the client sends prompts typed in
   * the meantime.
   */
  readonly isAnswer: boolean
  /** For a message of tool results, the id of the call that it answers, or a list of several ids. */
  readonly results: string | readonly string[] | undefined
  /** The edit or compaction that the action makes; undefined for a message. */
  readonly marker: Edit | Compaction | undefined
  /** Action after which the children of this action are placed instead, if the client relinked the messages that a compaction keeps. */
  next: Node | undefined
  /** The last compaction on the path to the action. */
  compaction: Node | undefined
  /** Key of the configuration in force. */
  readonly configured: string | undefined
  /** The request that the reply answers, while it is one of the last ones. */
  request: Composition | undefined
}

/** The messages of a request, with their hashes. */
export interface Composition {
  readonly hashes: readonly string[]
  readonly messages: readonly ComposedMessage[]
}

/** An edit that replaces the shown content of the tool-result message with the ref `edits`. */
interface Edit {
  readonly edits: string
}

interface Compaction {
  /** Last action that the compaction hides. If `keeps` is true, the actions after it stay shown. */
  readonly hidden: Node
  readonly keeps: boolean
}

/** A message of tool results in which some results have been cleared. */
interface Cleared {
  /** Ref of the message whose shown content changes. */
  readonly ref: string
  readonly results: Node['results']
  readonly content: readonly Block[]
}

/** An assistant message and the results of its calls, in file order. */
export interface Round {
  /** Id of the assistant message. Some routers give every message the same id. */
  readonly id: string | undefined
  /** Parent named by the first line of the assistant message. */
  readonly parent: unknown
  readonly requestId: string | undefined
  /** Index of the assistant message in the list of actions. */
  index: number
  /** Last action of the round, from which children of any of its entries continue. */
  tip: Node | undefined
  followed: boolean
}

export type Parent = Node | undefined

/** Returns the action after which the children of an action are placed. */
export const endOf = (node: Parent): Parent => {
  let end = node?.round?.tip ?? node
  while (end?.next) end = end.next
  return end
}

/** Reports whether an action is on the path to another action. */
export const leadsTo = (node: Parent, end: Parent): boolean =>
  node === end || firstAfter(node, end) !== undefined

/** Reports whether a compaction is on the path to an action. */
export const isCompacted = (by: Node, end: Parent): boolean => {
  for (let each = end?.compaction; each; each = each.parent?.compaction) if (each === by) return true
  return false
}

/** Returns the action right after `node` on the path to `end`; undefined if `node` is not on that path. */
export const firstAfter = (node: Parent, end: Parent): Parent => {
  for (let each = node && end; each; each = each.parent) if (each.parent === node) return each
  return undefined
}

/**
 * Returns the reply with this id that an action belongs to or answers; undefined if one of the calls has been answered since that
 * reply.
 */
export const replyBefore = (node: Parent, id: string, calls: readonly string[]): Round | undefined => {
  for (let each = node; each; each = each.parent) {
    const { round } = each
    if (round?.id === id && round.index === each.index) return round
    const results = [each.results ?? []].flat()
    if ((!round && results.length === 0) || calls.some((call) => results.includes(call))) return undefined
  }
  return undefined
}

/**
 * Returns the last action that a compaction after `parent` hides: the last shown action or, if the client kept some messages, the one
 * before them.
 */
export const lastHidden = (parent: Parent, kept: Parent): Parent =>
  lastShown(kept && leadsTo(kept, parent) ? kept.parent : parent)

/**
 * Returns the action that is shown last on a path. Skips edits, because an edit is shown in place of its message. Also skips
 * compactions that keep actions, because such a compaction is shown before the actions that it keeps.
 */
export const lastShown = (parent: Parent): Parent => {
  let node = parent
  while (node?.marker && ('edits' in node.marker || node.marker.keeps)) node = node.parent
  return node
}

/** Text that the client shows in place of a cleared result. */
const cleared = '[Old tool result content cleared]'

/** Returns the shown messages on a path that contain any of these results, with those results cleared, in path order. */
export const clear = (
  parent: Parent,
  ids: ReadonlySet<unknown>,
  actionAt: (index: number) => ImportAction | undefined,
): readonly Cleared[] => {
  const edits: Cleared[] = []
  const seen = new Set<string>()
  let hidden: Parent
  for (let node = parent; node && node !== hidden; node = node.parent) {
    const { results, marker } = node
    if (marker && 'hidden' in marker) hidden ??= marker.hidden
    if (results === undefined) continue
    const isEdit = marker !== undefined && 'edits' in marker
    const ref = isEdit ? marker.edits : node.ref
    if (seen.has(ref)) continue
    if (isEdit) seen.add(ref)
    if (!(typeof results === 'string' ? ids.has(results) : results.some((id) => ids.has(id)))) continue
    const isOld = (block: Block): boolean =>
      isBlock(block, 'tool_result') && ids.has(block.tool_use_id) && block.content !== cleared
    const whole = shownBy(actionAt(node.index))
    if (!whole.some(isOld)) continue
    const content = whole.map((block) => (isOld(block) ? { ...block, content: cleared } : block))
    edits.push({ ref, results, content })
  }
  return edits.toReversed()
}

const shownBy = (action: ImportAction | undefined): readonly Block[] =>
  action?.type === 'message'
    ? blocksOf(action.message)
    : action?.type === 'condense'
      ? action.summary.flatMap(({ content }) => content)
      : []

export const callIds = (content: readonly Block[]): readonly string[] =>
  content.flatMap((block) => (isBlock(block, 'tool_use') ? [block.id] : []))

/** Returns the ids of the calls that a message answers. */
export const resultIds = (message: NewMessage): readonly string[] =>
  blocksOf(message).flatMap((block) => (isBlock(block, 'tool_result') ? [block.tool_use_id] : []))
