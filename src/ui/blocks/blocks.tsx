import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { AnyBlock, Block } from '../../core.ts'
import { useSetting } from '../settings.ts'
import { type ApiSource, problemOf } from '../source/source.ts'
import { count, number, size } from '../words.ts'
import type { ClippedString } from './cut.ts'
import { blobOf, Image } from './image.tsx'
import { Input } from './input.tsx'
import { JsonTree } from './json-tree.tsx'
import { More } from './more.tsx'
import { Part, Text } from './text.tsx'
import { type BlockParts, type BlockPlace, mayBeCut, textOf, type FullBlockReader, wholeOf } from './whole.ts'

export interface BlocksProps {
  readonly source: ApiSource
  /** Conversation and position of the message whose clipped content can be fetched; undefined if nothing is clipped. */
  readonly of?: BlockPlace | undefined
  readonly content: readonly (Block | AnyBlock)[]
  readonly cuts?: readonly ClippedString[] | undefined
  /** Number of blocks of the whole message; default: those in `content`. */
  readonly total?: number | undefined
  /** Form of the texts; default: the user's own setting. */
  readonly text?: 'exact' | 'rendered' | undefined
  readonly isOpen?: boolean | undefined
  /** True to show a tool call's name even if the message has only one call. */
  readonly isNamed?: boolean
  /** Returns what is shown beside a tool call that has a line of its own, by the call's id. */
  readonly outcome?: ((call: string) => ComponentChildren) | undefined
}

export const Blocks = ({
  source,
  of,
  content,
  cuts = [],
  total,
  text: given,
  isOpen,
  isNamed = false,
  outcome,
}: BlocksProps) => {
  const own = useSetting('text')
  const text = given ?? own
  if (content.length === 0) return <p class="nothing">no content</p>
  const calls = content.filter(({ type }) => type.endsWith('tool_use')).length
  return (
    <FirstBlocks content={content} total={total} load={of && ((index) => wholeOf(source, of, index).all())}>
      {(block, index) => {
        const cut = cuts.find((one) => one.block === index)
        const whole = of && cut && wholeOf(source, of, index)
        return (
          <BlockView
            isOnly={calls === 1 && !isNamed}
            key={index}
            block={block}
            length={cut?.length}
            isPart={cut?.omitted}
            {...{ text, isOpen, whole, outcome }}
          />
        )
      }}
    </FirstBlocks>
  )
}

/** Number of blocks shown at first, and added by each click. */
const step = 100

interface FirstBlocksProps {
  readonly content: readonly AnyBlock[]
  /** Number of all blocks; default: those in `content`. */
  readonly total?: number | undefined
  /** Loads a block that is not in `content`. */
  readonly load?: ((index: number) => Promise<AnyBlock>) | undefined
  readonly children: (block: AnyBlock, index: number) => ComponentChildren
}

/** Shows the first blocks of a content that may have thousands, and a button for more. */
const FirstBlocks = ({ content, total = content.length, load, children }: FirstBlocksProps) => {
  const [most, setMost] = useState(step)
  const [loaded, setLoaded] = useState<readonly AnyBlock[]>([])
  const [problem, setProblem] = useState<string>()
  const shown = [...content.slice(0, most), ...loaded.slice(0, Math.max(0, most - content.length))]
  const next = Math.min(total, shown.length + step)
  const showMore = async (): Promise<void> => {
    const further = [...loaded]
    while (load && content.length + further.length < next)
      further.push(await load(content.length + further.length))
    setLoaded(further)
    setMost(next)
  }
  return (
    <>
      {shown.map(children)}
      {next > shown.length && (
        <More
          onClick={() => {
            setProblem(undefined)
            showMore().catch((error: unknown) => setProblem(problemOf(error).detail))
          }}
        >
          {number(next - shown.length)} more of {count(total, 'block')}
        </More>
      )}
      {problem !== undefined && <p role="alert">{problem}</p>}
    </>
  )
}

interface BlockProps extends BlockParts, Pick<BlocksProps, 'outcome'> {
  readonly block: AnyBlock
  /** True if the block is the only tool call in a message. The message's heading then already names the tool. */
  readonly isOnly?: boolean
}

const BlockView = ({ block, length, isPart, whole, text, isOpen, isOnly = false, outcome }: BlockProps) => {
  switch (block.type) {
    case 'text':
      return (
        <Text text={textOf(block['text'])} as={text} read={whole?.at(['text'])} {...{ length, isOpen }} />
      )
    case 'thinking':
      return (
        <div class="block thinking">
          <Label kind="thinking" />
          <Text
            text={textOf(block['thinking'])}
            as={text}
            read={whole?.at(['thinking'])}
            {...{ length, isOpen }}
          />
        </div>
      )
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return (
        <div class="block call">
          {!isOnly && (
            <>
              <Label kind="call" name={textOf(block['name'])} /> {outcome?.(textOf(block['id']))}
            </>
          )}
          <Input
            of={block['input']}
            tool={textOf(block['name'])}
            {...{ length, isPart, whole, text, isOpen }}
          />
        </div>
      )
    case 'tool_result':
      return (
        <div class={block['is_error'] === true ? 'block result error' : 'block result'}>
          {block['is_error'] === true && <Label kind="error" />}
          <Inner content={block['content']} field="content" {...{ length, isPart, whole, text, isOpen }} />
        </div>
      )
    case 'image':
    case 'document':
      return <Media {...{ block, length, whole, text, isOpen }} />
    case 'redacted_thinking':
      return (
        <p class="nothing">
          thinking that the provider redacted, {size(length ?? textOf(block['data']).length)}
        </p>
      )
    default:
      return (
        <div class="block other">
          <Label kind={block.type} />
          {isPart ? (
            <Part value={block} path={[]} {...{ whole, length, text, isOpen }} />
          ) : text === 'exact' || whole ? (
            <Text
              text={JSON.stringify(block, undefined, 2)}
              read={whole?.at([])}
              {...{ isOpen, length: whole && length }}
            />
          ) : (
            <JsonTree value={block} />
          )}
        </div>
      )
  }
}

const Label = ({ kind, name }: { readonly kind: string; readonly name?: string }) => (
  <span class="label">
    {kind} {name !== undefined && <b>{name}</b>}
  </span>
)

/** Shows the content of a tool result or document, which is text or blocks. */
const Inner = ({
  content,
  field,
  ...parts
}: { readonly content: unknown; readonly field: string } & BlockParts) => {
  const { length, whole, isOpen } = parts
  const text = parts.text === 'exact' ? 'exact' : 'data'
  if (parts.isPart) return <Part value={content} path={[field]} {...parts} />
  if (content === undefined || (Array.isArray(content) && content.length === 0))
    return <p class="nothing">empty</p>
  if (!Array.isArray(content))
    return (
      <Text
        text={textOf(content)}
        as={text}
        read={whole?.at([field])}
        {...{ length: whole && length, isOpen }}
      />
    )
  return (
    <FirstBlocks content={content as readonly AnyBlock[]}>
      {(block, index) => {
        const isCut =
          Object.values(block).some((value) => mayBeCut(value, parts)) || (whole && block.type === 'image')
        const inner: FullBlockReader | undefined = whole && {
          all: async () => ((await whole.all())[field] as readonly AnyBlock[] | undefined)?.[index] ?? block,
          at: (path) => whole.at([field, index, ...path]),
        }
        return (
          <BlockView
            key={index}
            block={block}
            length={isCut ? length : undefined}
            whole={isCut ? inner : undefined}
            text={text}
            isOpen={isOpen}
          />
        )
      }}
    </FirstBlocks>
  )
}

type Fieldset = Readonly<Record<string, unknown>>
const sourceOf = (block: AnyBlock): Fieldset => (block['source'] ?? {}) as Fieldset

const Media = ({ block, length, whole, text, isOpen }: BlockProps) => {
  const { type = '', media_type: media, data, url, content } = sourceOf(block)
  const title = typeof block['title'] === 'string' ? `${block['title']}, ` : ''
  if (type === 'base64' && block.type === 'image') {
    const load = whole && (async () => blobOf(textOf(sourceOf(await whole.all())['data'])))
    return <Image type={textOf(media)} data={textOf(data)} length={length} load={load} />
  }
  if (type === 'text')
    return <Text text={textOf(data)} as={text} read={whole?.at(['source', 'data'])} {...{ length, isOpen }} />
  if (typeof url === 'string') return <Text text={`${title}${block.type} at ${url}, which is not loaded`} />
  if (content !== undefined) return <Inner content={content} field="content" {...{ text, isOpen }} />
  const about = typeof data === 'string' ? `, ${size(Math.floor(((length ?? data.length) * 3) / 4))}` : ''
  return <p class="nothing">{`${title}${textOf(media) || block.type}${about}`}</p>
}
