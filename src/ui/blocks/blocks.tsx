import type { AnyBlock, Block } from '../../core.ts'
import type { Source } from '../source/source.ts'
import { apiOf } from '../url.ts'
import { size } from '../words.ts'
import { Image } from './image.tsx'
import { Text } from './text.tsx'

/** Where the server has cut a string of a block (`?clip=`), and how long it is in whole. */
export interface Cut {
  readonly block: number
  readonly field: 'text' | 'content' | 'thinking' | 'input' | 'data'
  readonly length: number
}

export interface BlocksProps {
  readonly source: Source
  /** The conversation and position that the blocks are of: what was cut is fetched there. Undefined: nothing was cut. */
  readonly of?: { readonly conversation: string; readonly position: number } | undefined
  readonly content: readonly (Block | AnyBlock)[]
  readonly cuts?: readonly Cut[] | undefined
  readonly text?: 'exact' | 'rendered'
  readonly isOpen?: boolean | undefined
}

/** The blocks of a message. */
export const Blocks = ({ source, of, content, cuts = [], text = 'exact', isOpen }: BlocksProps) => {
  if (content.length === 0) return <p class="nothing">no content</p>
  return (
    <>
      {content.map((block, index) => {
        const path = of && `${apiOf(of.conversation)}/events/${of.position}/blocks/${index}`
        const bytes = path === undefined ? undefined : async () => (await source.bytes(path)).blob
        const length = cuts.find((cut) => cut.block === index)?.length
        return <BlockView key={index} block={block} {...{ length, bytes, text, isOpen }} />
      })}
    </>
  )
}

interface BlockProps {
  readonly block: AnyBlock
  readonly length: number | undefined
  readonly bytes: (() => Promise<Blob>) | undefined
  readonly text: 'exact' | 'rendered'
  readonly isOpen: boolean | undefined
}

const BlockView = ({ block, length, bytes, text, isOpen }: BlockProps) => {
  const load = bytes && (async () => (await bytes()).text())
  switch (block.type) {
    case 'text':
      return <Text text={textOf(block['text'])} as={text} {...{ length, load, isOpen }} />
    case 'thinking':
      return (
        <div class="block thinking">
          <Label kind="thinking" />
          <Text text={textOf(block['thinking'])} {...{ length, load, isOpen }} />
        </div>
      )
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return (
        <div class="block call">
          <Label kind="call" name={textOf(block['name'])} />
          <Fields of={block['input']} {...{ length, load, isOpen }} />
        </div>
      )
    case 'tool_result':
      return (
        <div class={block['is_error'] === true ? 'block result error' : 'block result'}>
          {block['is_error'] === true && <Label kind="error" />}
          <Result content={block['content']} {...{ length, bytes, isOpen }} />
        </div>
      )
    case 'image':
    case 'document':
      return <Media block={block} {...{ length, bytes, isOpen }} />
    case 'redacted_thinking':
      return (
        <p class="nothing">
          thinking that the provider redacted, {size(length ?? textOf(block['data']).length)}
        </p>
      )
    default:
      return (
        <div class="block">
          <Label kind={block.type} />
          <Text text={JSON.stringify(block, undefined, 2)} {...{ isOpen }} />
        </div>
      )
  }
}

const Label = ({ kind, name }: { readonly kind: string; readonly name?: string }) => (
  <span class="label">
    {kind} {name !== undefined && <b>{name}</b>}
  </span>
)

type Loading = Pick<BlockProps, 'length' | 'isOpen'> & { readonly load?: (() => Promise<string>) | undefined }

/** The input of a call: a field a line. Strings are shown as they are, other values as JSON. */
const Fields = ({ of, ...loading }: { readonly of: unknown } & Loading) => {
  const isCut = loading.length !== undefined
  if (typeof of !== 'object' || of === null || Array.isArray(of) || isCut)
    return <Text text={typeof of === 'string' ? of : JSON.stringify(of, undefined, 2)} {...loading} />
  const fields = Object.entries(of)
  if (fields.length === 0) return <p class="nothing">no input</p>
  return (
    <dl class="fields">
      {fields.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Text text={typeof value === 'string' ? value : JSON.stringify(value)} isOpen={loading.isOpen} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

const Result = ({
  content,
  length,
  bytes,
  isOpen,
}: { readonly content: unknown } & Omit<BlockProps, 'block' | 'text'>) => {
  const load = bytes && (async () => (await bytes()).text())
  if (content === undefined) return <p class="nothing">empty</p>
  if (typeof content === 'string') return <Text text={content} {...{ length, load, isOpen }} />
  if (!Array.isArray(content)) return <Text text={JSON.stringify(content, undefined, 2)} {...{ isOpen }} />
  if (content.length === 0) return <p class="nothing">empty</p>
  if (length !== undefined)
    return <Text text={JSON.stringify(content, undefined, 2)} {...{ length, load, isOpen }} />
  return (
    <>
      {(content as readonly AnyBlock[]).map((block, index) => (
        <BlockView
          key={index}
          block={block}
          length={undefined}
          bytes={undefined}
          text="exact"
          isOpen={isOpen}
        />
      ))}
    </>
  )
}

const Media = ({ block, length, bytes, isOpen }: Omit<BlockProps, 'text'>) => {
  const {
    type = '',
    media_type: media,
    data,
    url,
    content,
  } = (block['source'] ?? {}) as Readonly<Record<string, unknown>>
  const title = typeof block['title'] === 'string' ? `${block['title']}, ` : ''
  if (type === 'base64' && block.type === 'image')
    return <Image type={textOf(media)} data={textOf(data)} length={length} load={bytes} />
  if (type === 'text')
    return (
      <Text
        text={textOf(data)}
        {...{ length, isOpen, load: bytes && (async () => (await bytes()).text()) }}
      />
    )
  if (typeof url === 'string') return <Text text={`${title}${block.type} at ${url}, which is not loaded`} />
  if (content !== undefined) return <Result content={content} {...{ length, bytes, isOpen }} />
  const about = typeof data === 'string' ? `, ${size(Math.floor(((length ?? data.length) * 3) / 4))}` : ''
  return <p class="nothing">{`${title}${textOf(media) || block.type}${about}`}</p>
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
