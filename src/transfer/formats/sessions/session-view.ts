import { randomUUID } from 'node:crypto'
import { type Block, isBlock, textBlock } from '../../../events/blocks.ts'
import { isFields } from '../../../events/json.ts'
import type { Role } from '../../../events/events.ts'
import { type Effective, type Item, messagesOf } from '../../../projections/effective.ts'
import { isCompaction, isThinking, rendering, type Repair } from '../../../projections/render/renderer.ts'
import { inBreaths } from '../../../store/breath.ts'
import type { ExportOptions } from '../exporter.ts'
import type { LossKind, SessionLoss } from './session-loss.ts'

/** A block of a view, with the position of the event that it comes from. */
export interface ViewBlock {
  readonly block: Block
  readonly position: number
}

/**
 * A message of a view. Its blocks are text, images, documents, thinking of Claude, tool calls and tool results, without fields that
 * only the API's own features use; and the program's own blocks.
 */
export interface ViewMessage {
  readonly role: Role
  readonly blocks: readonly ViewBlock[]
  /** Time of the message's first event in ISO 8601, UTC. */
  readonly time: string
  /** Model that wrote the message, if known. */
  readonly model?: string | undefined
}

/** A moment of a conversation as the model sees it, in a form that programs other than the recording one can continue. */
export interface SessionView {
  readonly messages: readonly ViewMessage[]
  /** Everything that no other program can hold, by position. */
  readonly lost: readonly SessionLoss[]
}

/** Repairs that leave content out, and the kind of the loss. The others change how content is shown, or leave out what is empty. */
const lossOfRepair: Readonly<Partial<Record<Repair['kind'], LossKind>>> = {
  'thinking-dropped': 'thinking',
  'media-replaced': 'media',
  'block-dropped': 'left-out',
  'server-tool-dropped': 'left-out',
  'result-dropped': 'left-out',
  'history-cut': 'left-out',
}

interface ViewOptions extends Pick<ExportOptions, 'redact' | 'withheld'> {
  /** Type of the blocks that the program's own API knows, and that stay as they are. */
  readonly ownBlock?: string | undefined
}

/**
 * Returns a moment of a conversation as other programs can continue it. It is rendered first, so that a request made from it is valid,
 * whatever the log contains.
 */
export const sessionViewOf = async (
  given: Effective,
  { redact, withheld, ownBlock }: ViewOptions = {},
): Promise<SessionView> => {
  const { effective, blockFor } = withStandIns(given, ownBlock)
  const { messages, repairs } = await inBreaths(rendering(effective, { systemMessages: true }))
  const lost: SessionLoss[] = [...configurationLost(effective)]
  for (const { position, erased } of effective.items) {
    if (erased !== undefined) lost.push({ kind: 'erased', position, detail: 'content that was erased' })
    if (withheld?.has(position)) lost.push({ kind: 'withheld', position, detail: 'content that is withheld' })
  }
  for (const { kind, position, detail } of repairs) {
    const loss = lossOfRepair[kind]
    if (loss)
      lost.push({ kind: loss, position, detail: loss === 'thinking' ? `thinking: ${detail}` : detail })
    // Not every client holds system messages, but each would hold this one as the user's.
    else if (kind === 'system-folded') lost.push({ kind: 'system-message', position, detail })
  }
  const items = new Map(effective.items.map((item) => [item.position, item]))
  const placeOf = createPlaceFinder(effective.items)
  const view: ViewMessage[] = []
  for (const { role, content } of messages as readonly RenderedContent[]) {
    const placed = content.map((block) => ({ block, position: placeOf(block) }))
    const first = items.get(placed[0]?.position ?? -1)
    const model = placed
      .map(({ position }) => modelOf(items.get(position)))
      .find((name) => name !== undefined)
    const blocks = placed.flatMap(({ block, position }) => {
      const own = blockFor(block)
      if (own) return [{ block: own, position }]
      const portable = portableBlock(block, model, (kind, detail) => lost.push({ kind, position, detail }))
      return portable ? [{ block: portable, position }] : []
    })
    if (blocks.length === 0) continue
    view.push({
      role,
      blocks: redact ? redactBlocks(blocks, redact) : blocks,
      time: first?.time ?? now(),
      model,
    })
  }
  return { messages: view, lost: distinct(lost) }
}

/** Returns a history in which texts stand for blocks of a type, because they would not be rendered, and a function that finds these. */
const withStandIns = (effective: Effective, type: string | undefined) => {
  const own = new Map<string, Block>()
  const standIn = (block: Block): Block => {
    if (block.type !== type) return block
    const text = randomUUID()
    own.set(text, block)
    return textBlock(text)
  }
  const isOwn = (message: { readonly content: readonly Block[] }): boolean =>
    message.content.some((block) => block.type === type)
  const changed = <A extends { readonly content: readonly Block[] }>(message: A): A =>
    isOwn(message) ? { ...message, content: message.content.map(standIn) } : message
  const items = effective.items.map((item): Item => {
    if (!messagesOf(item).some(isOwn)) return item
    return item.kind === 'summary'
      ? { ...item, messages: item.messages.map(changed) }
      : item.kind === 'message'
        ? changed(item)
        : item
  })
  const blockFor = (block: Block): Block | undefined =>
    isBlock(block, 'text') ? own.get(block.text) : undefined
  return {
    effective: items.some((item, index) => item !== effective.items[index])
      ? { ...effective, items }
      : effective,
    blockFor,
  }
}

interface RenderedContent {
  readonly role: Role
  readonly content: readonly Block[]
}

const now = (): string => new Date().toISOString()

const configurationLost = ({ layout }: Effective): readonly SessionLoss[] => {
  const { configured: position, configuration } = layout
  return position !== undefined && (configuration?.system !== undefined || configuration?.tools !== undefined)
    ? [{ kind: 'configuration', position, detail: 'the system prompt and tools: the program uses its own' }]
    : []
}

/**
 * Returns a function that finds the event of a block, to be called for the blocks of a request in order. A block that render has
 * changed is found by the id of its call, or else counts as part of the event before it.
 */
const createPlaceFinder = (items: readonly Item[]): ((block: Block) => number) => {
  const known = new Map<unknown, number>()
  for (const item of items)
    for (const { content } of messagesOf(item))
      for (const block of content)
        for (const key of keysOf(block)) if (!known.has(key)) known.set(key, item.position)
  let last = items[0]?.position ?? 0
  return (block) => {
    const key = keysOf(block).find((each) => known.has(each))
    return (last = known.get(key) ?? last)
  }
}

const keysOf = (block: Block): readonly unknown[] =>
  isBlock(block, 'tool_use')
    ? [block, `call ${block.id}`]
    : isBlock(block, 'tool_result')
      ? [block, `result ${block.tool_use_id}`]
      : [block]

const modelOf = (item: Item | undefined): string | undefined => {
  const model = item?.kind === 'message' && item.role === 'assistant' ? item.origin?.model : undefined
  // Names such as `<synthetic>` are those of programs.
  return model?.startsWith('<') ? undefined : model
}

type LoseBlock = (kind: LossKind, detail: string) => void

/** Returns a block without fields and sources that only its own program or account can use; undefined if nothing remains. */
const portableBlock = (block: Block, model: string | undefined, lose: LoseBlock): Block | undefined => {
  if (isBlock(block, 'text')) {
    if (block['citations']) lose('left-out', 'citations')
    return textBlock(block.text)
  }
  if (isThinking(block)) return portableThinking(block, model, lose)
  if (isBlock(block, 'tool_use'))
    return { type: block.type, id: block.id, name: block.name, input: block.input }
  if (isBlock(block, 'tool_result')) {
    const { tool_use_id, content, is_error } = block
    const inner =
      content === undefined || typeof content === 'string'
        ? content
        : content.flatMap((each) => portableBlock(each, model, lose) ?? [])
    return { type: block.type, tool_use_id, content: inner ?? '', ...(is_error === true && { is_error }) }
  }
  if (isBlock(block, 'image') || isBlock(block, 'document')) return portableMedia(block, lose)
  if (isCompaction(block) && typeof block['content'] === 'string') {
    lose('left-out', 'a compaction by the API, which becomes text')
    return textBlock(block['content'])
  }
  lose('left-out', `a block of type ${block.type}`)
  return undefined
}

/** The API checks signatures, so the thinking of other models' providers would be refused. */
const portableThinking = (block: Block, model: string | undefined, lose: LoseBlock): Block | undefined => {
  if (model === undefined || model.includes('claude')) return block
  lose('thinking', `thinking: it is ${model}'s, which the API refuses`)
  return undefined
}

const portableMedia = (block: Block, lose: LoseBlock): Block => {
  const { cache_control: _, ...media } = block
  const source = block['source']
  if (isFields(source) && typeof source[source['type'] === 'url' ? 'url' : 'data'] === 'string') return media
  lose('media', `${block.type === 'image' ? 'an image' : 'a document'} whose content is not in the log`)
  return textBlock(`[${block.type} that is not available here]`)
}

const redactBlocks = (
  blocks: readonly ViewBlock[],
  redact: NonNullable<ExportOptions['redact']>,
): readonly ViewBlock[] => {
  const { content } = redact({ content: blocks.map(({ block }) => block) })
  return blocks.map((each, index) => ({ ...each, block: content[index] ?? each.block }))
}

/** Returns losses without repetitions, ordered by position. */
export const distinct = (lost: readonly SessionLoss[]): readonly SessionLoss[] => {
  const known = new Map(lost.map((loss) => [`${loss.kind} ${loss.position} ${loss.detail}`, loss]))
  return [...known.values()].toSorted((one, other) => one.position - other.position)
}
