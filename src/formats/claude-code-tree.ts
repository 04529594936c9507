import type { NewMessage } from '../commands/command.ts'
import { type Block, isBlock } from '../events/blocks.ts'
import { wholeOf } from './shelf.ts'

/** A step in the session's tree. `first` is the first step of its path. */
export interface Node {
  readonly ref: string
  readonly first: string
  readonly parent: Node | undefined
  readonly round: Round | undefined
  /** Tool results, or what is said right behind them: there the client sends what was typed meanwhile. */
  readonly isAnswer: boolean
  /** A message of tool results as it is shown from here on: this step's own, or the one that this step edits. */
  readonly results: Results | undefined
  readonly kind: 'message' | 'edit' | 'compaction'
  /** Of a compaction: the last step that it hides, and whether it keeps what comes after that one. */
  readonly hidden: Node | undefined
  readonly keeps: boolean
  /** The step that what continues from here continues from: the client relinks what a compaction keeps. */
  next: Node | undefined
}

interface Results {
  readonly ref: string
  readonly content: readonly Block[]
}

/** An assistant message and what follows it at once: the results of its calls, in the order of the file. */
export interface Round {
  readonly index: number
  content: readonly Block[]
  /** The last step of the round; what continues from any entry of the round continues from here. */
  tip: Node | undefined
  followed: boolean
}

export type Parent = Node | undefined

/** Where what follows this step is put. */
export const endOf = (node: Parent): Parent => {
  let end = node?.round?.tip ?? node
  while (end?.next) end = end.next
  return end
}

/** The last step that a compaction behind `parent` hides: all of them, or those before the part that the client kept. */
export const lastHidden = (parent: Parent, kept: Parent): Parent => {
  for (let node = kept && parent; node; node = node.parent) if (node === kept) return lastShown(kept?.parent)
  return lastShown(parent)
}

/** The step that is shown last: an edit stands where its message does, and a compaction before what it keeps. */
export const lastShown = (parent: Parent): Parent => {
  let node = parent
  while (node && (node.kind === 'edit' || node.keeps)) node = node.parent
  return node
}

/** What the client shows in place of a result that it clears. */
const cleared = '[Old tool result content cleared]'

/** The shown messages that hold one of these results, with those results cleared; in the order of the path. */
export const clear = (parent: Parent, ids: ReadonlySet<unknown>): readonly Results[] => {
  const edits: Results[] = []
  const seen = new Set<string>()
  let hidden: Parent
  for (let node = parent; node && node !== hidden; node = node.parent) {
    if (node.kind === 'compaction') hidden ??= node.hidden
    const { results } = node
    if (!results || seen.has(results.ref)) continue
    seen.add(results.ref)
    const isOld = (block: Block): boolean =>
      isBlock(block, 'tool_result') && ids.has(block.tool_use_id) && block.content !== cleared
    if (results.content.some(isOld)) {
      const content = results.content.map((block) =>
        isOld(block) ? { ...wholeOf(block), content: cleared } : block,
      )
      edits.unshift({ ref: results.ref, content })
    }
  }
  return edits
}

export const blocksOf = ({ content }: NewMessage): readonly Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content

export const callIds = (content: readonly Block[]): readonly string[] =>
  content.flatMap((block) => (isBlock(block, 'tool_use') ? [block.id] : []))

export const resultId = (message: NewMessage): string | undefined =>
  blocksOf(message).find((block) => isBlock(block, 'tool_result'))?.tool_use_id
