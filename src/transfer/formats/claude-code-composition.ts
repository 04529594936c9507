import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { type Block, isBlock } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { glue } from '../../agent/receipts/recorded-schema.ts'
import { blocksOf } from './actions.ts'
import type { FileRequest } from './claude-code-requests.ts'
import type { Composition, Node, Parent } from './claude-code-tree.ts'
import type { ImportAction, ComposedMessage, ComposedText } from './plan.ts'

// The messages of a recorded request, composed of the messages that the file's entries became. Each composed message is compared with
// its recorded hash, so nothing is guessed.

/** The messages of a request: the first `keep` of an earlier request, answered by the action `base`, and those after them. */
export interface ComposedRequest {
  readonly base?: string
  readonly keep?: number
  readonly messages: readonly ComposedMessage[]
  readonly whole: Composition
}

/** A message as an action shows it. */
interface Shown {
  readonly ref: string
  readonly role: Role
  readonly content: readonly Block[]
  readonly fields: Fields | undefined
  readonly isString: boolean
  readonly isResult: boolean
}

/** Maximum distance of a message of the request from the place after the message before it, in shown actions. */
const longestSearch = 64

/**
 * Composes a request of the actions that are shown on the path to a reply; undefined if the file does not tell all of its messages.
 *
 * @param parent the action before the reply
 */
export const composeRequest = (
  parent: Parent,
  { hashes, cache }: FileRequest,
  actionAt: (index: number) => ImportAction | undefined,
  messageWith: (hash: string) => Fields | undefined,
): ComposedRequest | undefined => {
  const base = baseOf(parent)
  const shared = base ? sharedLength(base.request.hashes, hashes) : 0
  // If an earlier message changed, its new parts may be anywhere on the path.
  const isContinued = base !== undefined && shared === base.request.hashes.length
  const nodes = isContinued ? base.after : shownOn(parent)
  const from = isContinued ? shared : 0
  const compose = composer(nodes, actionAt)
  const marked = new Set(cache.map(({ path }) => (path[0] === 'messages' ? path[1] : undefined)))
  const messages: ComposedMessage[] = []
  for (const [index, each] of hashes.slice(from).entries()) {
    const recorded = messageWith(each)
    const message = compose(each, recorded)
    if (!message) return undefined
    const isString = recorded && wasString(recorded, marked.has(from + index))
    messages.push(isString ? { ...message, string: true } : message)
  }
  const before = isContinued ? base.request.messages.slice(0, shared) : []
  return {
    ...(isContinued && { base: base.node.ref, keep: shared }),
    messages,
    whole: { hashes, messages: [...before, ...messages] },
  }
}

/**
 * Reports whether the client sends a recorded message's content as a string. Text with a cache breakpoint is recorded as a block, and is
 * sent as a string later, without the breakpoint.
 */
const wasString = ({ role, content }: Fields, isMarked: boolean): boolean =>
  typeof content === 'string' ||
  (isMarked &&
    role !== 'assistant' &&
    Array.isArray(content) &&
    content.length === 1 &&
    isTextOnly(content[0]))

const isTextOnly = (block: unknown): boolean =>
  isFields(block) && Object.keys(block).toSorted().join() === 'text,type'

interface Base {
  readonly node: Node
  readonly request: Composition
  /** The reply and the actions after it, in order. */
  readonly after: readonly Node[]
}

/** Returns the last reply on the path with a composed request, if nothing was hidden since. */
const baseOf = (parent: Parent): Base | undefined => {
  const after: Node[] = []
  for (let node = parent; node && !node.marker; node = node.parent) {
    after.push(node)
    if (node.request) return { node, request: node.request, after: after.toReversed() }
  }
  return undefined
}

/** Returns the actions that are shown on the path, in order: a summary comes before the actions that it keeps. */
const shownOn = (parent: Parent): readonly Node[] => {
  const nodes: Node[] = []
  const edits = new Map<string, Node>()
  let summary: Node | undefined
  let hidden: Parent
  for (let node = parent; node && node !== hidden; node = node.parent) {
    const { marker } = node
    if (marker && 'edits' in marker) {
      if (!edits.has(marker.edits)) edits.set(marker.edits, node)
    } else if (marker && !summary) {
      summary = node
      hidden = marker.hidden
    } else if (!marker) nodes.push(edits.get(node.ref) ?? node)
  }
  if (summary) nodes.push(edits.get(summary.ref) ?? summary)
  return nodes.toReversed()
}

const sharedLength = (one: readonly string[], other: readonly string[]): number => {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return length
}

/** Returns a function that composes the message with a hash. The messages are asked for in the order of the request. */
const composer = (nodes: readonly Node[], actionAt: (index: number) => ImportAction | undefined) => {
  const known = new Map<number, Shown | undefined>()
  const shownAt = (index: number): Shown | undefined => {
    if (!known.has(index)) known.set(index, shownBy(nodes[index], actionAt))
    return known.get(index)
  }
  const digests = new Map<number, string>()
  const digestAt = (index: number, { role, content, fields }: Shown): string => {
    const digest = digests.get(index) ?? hashOf(role, content, fields)
    digests.set(index, digest)
    return digest
  }
  /** Index of the first action that no earlier message consists of. */
  let next = 0
  let lines: { readonly from: number; readonly index: LineIndex } | undefined

  const find = (wanted: string): ComposedMessage | undefined => {
    const end = Math.min(nodes.length, next + longestSearch)
    for (let first = next; first < end; first++) {
      const shown = shownAt(first)
      if (!shown || digestAt(first, shown) !== wanted) continue
      next = first + 1
      return { items: [shown.ref], ...(shown.isString && { string: true }) }
    }
    return joined(wanted, end)
  }

  /** Finds a message of several tool results, which the client joins. */
  const joined = (wanted: string, end: number): ComposedMessage | undefined => {
    let first = next
    while (first < end && shownAt(first)?.isResult !== true) first++
    const results: Shown[] = []
    for (let at = first; at < end; at++) {
      const result = shownAt(at)
      if (result?.isResult !== true) break
      results.push(result)
      const content = results.flatMap((one) => one.content)
      if (results.length === 1 || hashOf('user', content) !== wanted) continue
      next = at + 1
      return { items: results.map(({ ref }) => ref) }
    }
    return undefined
  }

  const fromBlocks = (wanted: string, recorded: Fields): ComposedMessage | undefined => {
    const { role, content, ...fields } = recorded
    const blocks: unknown = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    if (!Array.isArray(blocks) || (role !== 'user' && role !== 'assistant' && role !== 'system'))
      return undefined
    if (lines?.from !== next) {
      const shown = Array.from({ length: longestSearch }, (_, index) => shownAt(next + index) ?? [])
      lines = { from: next, index: indexOf(shown.flat()) }
    }
    const { index } = lines
    const parts = blocks.map((block: unknown) => (isFields(block) ? index.partOf(block) : undefined))
    const isWhole = hashOf(role, blocks as readonly Block[], fields) === wanted
    if (!isWhole || parts.includes(undefined)) return undefined
    const effort = effortIn(fields)
    if (Object.keys(fields).length > (effort ? 1 : 0)) return undefined
    return {
      role,
      content: parts as readonly (readonly [string, number] | ComposedText)[],
      ...(effort && { fields: effort }),
    }
  }

  return (wanted: string, recorded: Fields | undefined): ComposedMessage | undefined =>
    find(wanted) ?? (recorded && fromBlocks(wanted, recorded))
}

/** Returns the setting of the effort in a message's fields, if that is all that `output_config` has. */
const effortIn = ({
  output_config: settings,
}: Fields): { readonly output_config: { effort: string } } | undefined => {
  const effort = isFields(settings) && Object.keys(settings).length === 1 ? settings['effort'] : undefined
  return typeof effort === 'string' ? { output_config: { effort } } : undefined
}

const shownBy = (
  node: Node | undefined,
  actionAt: (index: number) => ImportAction | undefined,
): Shown | undefined => {
  const action = node && actionAt(node.index)
  const message =
    action?.type === 'message' ? action.message : action?.type === 'condense' ? action.summary[0] : undefined
  if (!node || !action || !message) return undefined
  const { role, content, origin: _, messageId: __, ...fields } = message as Fields & typeof message
  return {
    ref: node.ref,
    role,
    content: blocksOf(message),
    fields: Object.keys(fields).length > 0 ? fields : undefined,
    isString: typeof content === 'string',
    isResult: node.results !== undefined,
  }
}

const hashOf = (role: string, content: readonly Block[], fields: Fields = {}): string =>
  hash('sha256', canonicalize({ role, content, ...fields }) ?? '')

/** Number of places of a line that are compared. */
const mostPlaces = 8
/** Maximum length of the texts in which lines are looked for, in characters. */
const mostText = 4_000_000

interface TextPlace {
  readonly ref: string
  readonly block: number
  readonly text: string
  readonly start: number
}

interface LineIndex {
  /** Returns the block as a part of the actions; undefined if it is not made of them. */
  readonly partOf: (block: Fields) => readonly [string, number] | ComposedText | undefined
}

const indexOf = (shown: readonly Shown[]): LineIndex => {
  const places = new Map<string, TextPlace[]>()
  let left = mostText
  for (const { ref, content } of shown)
    for (const [index, block] of content.entries()) {
      if (!isBlock(block, 'text') || block.text.length > left) continue
      left -= block.text.length
      for (const [start, line] of linesIn(block.text)) {
        if (glue.test(line)) continue
        const found = places.get(line)
        if (!found) places.set(line, [{ ref, block: index, text: block.text, start }])
        else if (found.length < mostPlaces) found.push({ ref, block: index, text: block.text, start })
      }
    }
  const partOf = (block: Fields): readonly [string, number] | ComposedText | undefined => {
    const { type, text, ...others } = block
    if (type === 'text' && typeof text === 'string' && Object.keys(others).length === 0)
      return textOf(text, places)
    const wanted = canonicalize(block)
    for (const { ref, content } of shown) {
      const index = content.findIndex((each) => each.type === type && canonicalize(each) === wanted)
      if (index >= 0) return [ref, index]
    }
    return undefined
  }
  return { partOf }
}

/** Composes a text of slices of other texts, line by line; undefined if a line is in none of them. */
const textOf = (
  text: string,
  places: ReadonlyMap<string, readonly TextPlace[]>,
): ComposedText | undefined => {
  const pieces: (string | readonly [string, number, number, number])[] = []
  let between = ''
  const flush = (): void => {
    if (between !== '') pieces.push(between)
    between = ''
  }
  let at = 0
  while (at < text.length) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    const best = longest(text, at, places.get(text.slice(at, end)) ?? [])
    if (best) {
      flush()
      pieces.push([best.place.ref, best.place.block, best.place.start, best.place.start + best.length])
      at += best.length
      continue
    }
    const to = newline < 0 ? end : end + 1
    const line = text.slice(at, to)
    if (!glue.test(line)) return undefined
    between += line
    at = to
  }
  flush()
  return { text: pieces }
}

/** Returns the place from which most of the text from an index on can be taken, and the length of that part. */
const longest = (
  text: string,
  at: number,
  places: readonly TextPlace[],
): { readonly place: TextPlace; readonly length: number } | undefined => {
  let best: { readonly place: TextPlace; readonly length: number } | undefined
  for (const place of places) {
    const most = Math.min(text.length - at, place.text.length - place.start)
    let length = 0
    while (length < most && text.charCodeAt(at + length) === place.text.charCodeAt(place.start + length))
      length++
    // Only whole lines: a part of the next one would be cut off from the line that it belongs to.
    const cut = at + length === text.length ? length : lastEnd(text, at, at + length) - at
    if (!best || cut > best.length) best = { place, length: cut }
  }
  return best
}

/** Returns the last index up to `to` at which a line that begins at or after `from` ends. */
const lastEnd = (text: string, from: number, to: number): number => {
  if (text[to] === '\n') return to
  const newline = text.lastIndexOf('\n', to - 1)
  return newline < from ? to : newline
}

function* linesIn(text: string): Generator<readonly [start: number, line: string]> {
  for (let start = 0; start <= text.length;) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline
    yield [start, text.slice(start, end)]
    start = end + 1
  }
}
