import type { AnyBlock, Block } from '../../core.ts'
import { apiPathOf } from '../../server/client/api-path.ts'
import type { ApiSource } from '../source/source.ts'
import { size } from '../words.ts'
import { type ClippedString, leastCut } from './cut.ts'
import { blobOf, Image } from './image.tsx'
import { createPieceReader, type ReadOn } from './lot.ts'
import type { Path } from './reader-at.ts'
import { Text } from './text.tsx'

interface BlockPlace {
  readonly conversation: string
  readonly position: number
}
export interface BlocksProps {
  readonly source: ApiSource
  /** Conversation and position of the message whose clipped content can be fetched; undefined if nothing is clipped. */
  readonly of?: BlockPlace | undefined
  readonly content: readonly (Block | AnyBlock)[]
  readonly cuts?: readonly ClippedString[] | undefined
  readonly text?: 'exact' | 'rendered'
  readonly isOpen?: boolean | undefined
  /** True to show a tool call's name even if the message has only one call. */
  readonly isNamed?: boolean
}

export const Blocks = ({
  source,
  of,
  content,
  cuts = [],
  text = 'exact',
  isOpen,
  isNamed = false,
}: BlocksProps) => {
  if (content.length === 0) return <p class="nothing">no content</p>
  const calls = content.filter(({ type }) => type.endsWith('tool_use')).length
  return (
    <>
      {content.map((block, index) => {
        const cut = cuts.find((one) => one.block === index)
        const whole = of && cut && wholeOf(source, of, index)
        return (
          <BlockView
            isOnly={calls === 1 && !isNamed}
            key={index}
            block={block}
            length={cut?.length}
            {...{ text, isOpen, whole }}
          />
        )
      })}
    </>
  )
}

/** Functions that load the full content of a block that the server clipped. */
interface Whole {
  readonly all: () => Promise<AnyBlock>
  /** Returns a function that begins to read the value at a path in the block. */
  readonly at: (path: Path) => () => ReadOn
}

const wholeOf = (source: ApiSource, { conversation: id, position }: BlockPlace, index: number): Whole => {
  const route = '/conversations/{id}/events/{position}/blocks/{index}'
  const path = apiPathOf(route, { id, position, index }, { as: 'json' })
  return {
    all: async () => JSON.parse(await (await source.bytes(path)).blob.text()) as AnyBlock,
    at: (value) => () => createPieceReader(source, path, value),
  }
}

interface BlockProps {
  readonly block: AnyBlock
  /** Full length of the clipped string, in characters. */
  readonly length: number | undefined
  /** Full content of the block; undefined if nothing is clipped. */
  readonly whole: Whole | undefined
  readonly text: 'exact' | 'rendered'
  readonly isOpen: boolean | undefined
  /** True if the block is the only tool call in a message. The message's heading then already names the tool. */
  readonly isOnly?: boolean
}

const BlockView = ({ block, length, whole, text, isOpen, isOnly = false }: BlockProps) => {
  switch (block.type) {
    case 'text':
      return (
        <Text text={textOf(block['text'])} as={text} read={whole?.at(['text'])} {...{ length, isOpen }} />
      )
    case 'thinking':
      return (
        <div class="block thinking">
          <Label kind="thinking" />
          <Text text={textOf(block['thinking'])} read={whole?.at(['thinking'])} {...{ length, isOpen }} />
        </div>
      )
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return (
        <div class="block call">
          {!isOnly && <Label kind="call" name={textOf(block['name'])} />}
          <Fields of={block['input']} {...{ length, whole, isOpen }} />
        </div>
      )
    case 'tool_result':
      return (
        <div class={block['is_error'] === true ? 'block result error' : 'block result'}>
          {block['is_error'] === true && <Label kind="error" />}
          <Inner content={block['content']} field="content" {...{ length, whole, isOpen }} />
        </div>
      )
    case 'image':
    case 'document':
      return <Media {...{ block, length, whole, isOpen }} />
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
          <Text
            text={JSON.stringify(block, undefined, 2)}
            read={whole?.at([])}
            {...{ isOpen, length: whole && length }}
          />
        </div>
      )
  }
}

const Label = ({ kind, name }: { readonly kind: string; readonly name?: string }) => (
  <span class="label">
    {kind} {name !== undefined && <b>{name}</b>}
  </span>
)

type Parts = Pick<BlockProps, 'length' | 'whole' | 'isOpen'>

/** Reports whether the server may have clipped a string. If so, the length recorded for the block is shown as the string's full length. */
const mayBeCut = (text: unknown, { whole }: Parts): boolean =>
  whole !== undefined && typeof text === 'string' && text.length >= leastCut

/** Shows the input of a tool call, one field per line. Strings are shown unquoted, other values as JSON. */
const Fields = ({ of, ...parts }: { readonly of: unknown } & Parts) => {
  const { length, whole, isOpen } = parts
  if (typeof of !== 'object' || of === null || Array.isArray(of))
    return <Text text={textOf(of)} isOpen={isOpen} />
  const fields = Object.entries(of)
  if (fields.length === 0) return <p class="nothing">no input</p>
  return (
    <dl class="fields">
      {fields.map(([name, value]) => {
        const text = textOf(value)
        const isCut =
          mayBeCut(value, parts) ||
          (whole !== undefined && typeof value === 'object' && text.length >= leastCut)
        return (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Text
                {...{ text, isOpen }}
                {...(isCut && {
                  length: Math.max(length ?? 0, text.length + 1),
                  read: whole?.at(['input', name]),
                })}
              />
            </dd>
          </div>
        )
      })}
    </dl>
  )
}

/** Shows the content of a tool result or document, which is text or blocks. */
const Inner = ({
  content,
  field,
  ...parts
}: { readonly content: unknown; readonly field: string } & Parts) => {
  const { length, whole, isOpen } = parts
  if (content === undefined || (Array.isArray(content) && content.length === 0))
    return <p class="nothing">empty</p>
  if (!Array.isArray(content))
    return <Text text={textOf(content)} read={whole?.at([field])} {...{ length: whole && length, isOpen }} />
  return (
    <>
      {(content as readonly AnyBlock[]).map((block, index) => {
        const isCut =
          Object.values(block).some((value) => mayBeCut(value, parts)) || (whole && block.type === 'image')
        const inner: Whole | undefined = whole && {
          all: async () => ((await whole.all())[field] as readonly AnyBlock[] | undefined)?.[index] ?? block,
          at: (path) => whole.at([field, index, ...path]),
        }
        return (
          <BlockView
            key={index}
            block={block}
            length={isCut ? length : undefined}
            whole={isCut ? inner : undefined}
            text="exact"
            isOpen={isOpen}
          />
        )
      })}
    </>
  )
}

type Fieldset = Readonly<Record<string, unknown>>
const sourceOf = (block: AnyBlock): Fieldset => (block['source'] ?? {}) as Fieldset

const Media = ({ block, length, whole, isOpen }: Omit<BlockProps, 'text'>) => {
  const { type = '', media_type: media, data, url, content } = sourceOf(block)
  const title = typeof block['title'] === 'string' ? `${block['title']}, ` : ''
  if (type === 'base64' && block.type === 'image') {
    const load = whole && (async () => blobOf(textOf(sourceOf(await whole.all())['data'])))
    return <Image type={textOf(media)} data={textOf(data)} length={length} load={load} />
  }
  if (type === 'text')
    return <Text text={textOf(data)} read={whole?.at(['source', 'data'])} {...{ length, isOpen }} />
  if (typeof url === 'string') return <Text text={`${title}${block.type} at ${url}, which is not loaded`} />
  if (content !== undefined)
    return <Inner content={content} field="content" length={undefined} whole={undefined} isOpen={isOpen} />
  const about = typeof data === 'string' ? `, ${size(Math.floor(((length ?? data.length) * 3) / 4))}` : ''
  return <p class="nothing">{`${title}${textOf(media) || block.type}${about}`}</p>
}

/** Returns a string unchanged, undefined as an empty string, and any other value as JSON. */
const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value, undefined, 2)
