import { createHash, type Hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Rendered } from '../projections/render/render.ts'

/** What a receipt is of: a request as it is sent, without what goes along. */
export type Sent = Pick<Rendered, 'system' | 'tools' | 'messages'>

/** A block of a request, or a tool. */
export type Part = { readonly [field: string]: unknown }

// Blocks are never changed, and a history that goes on keeps those that it has: what is said of one is remembered by it.
const texts = new WeakMap<Part, string>()

/** The canonical JSON (RFC 8785) of a block. */
export const textOf = (part: Part): string => {
  const known = texts.get(part)
  if (known !== undefined) return known
  const text = canonicalize(part) ?? ''
  texts.set(part, text)
  return text
}

/** A hash of the first messages of a request, which the next request of the conversation shares. */
interface Beginning {
  readonly messages: readonly string[]
  /** How many of them are hashed. */
  readonly length: number
  readonly hash: Hash
}
const beginnings = new WeakMap<Part, Beginning>()

/**
 * SHA-256 (hex) of the canonical JSON (RFC 8785) of system, tools and messages; absent ones are absent there, too. Goes on from
 * what it has hashed of the conversation before, as long as that is the same.
 */
export const digestOf = ({ messages, system, tools }: Sent): string => {
  const said = messages.map(messageText)
  const first = messages[0]?.content[0]
  const known = first && beginnings.get(first)
  const isSame = known?.messages.every((text, index) => index >= known.length || text === said[index])
  let { length, hash } = known && isSame ? known : { length: 0, hash: createHash('sha256').update(opening) }
  const stable = stableIn(messages)
  if (first && length < stable) {
    hash = hash.copy().update(joined(said, length, stable))
    length = stable
    beginnings.set(first, { messages: said, length, hash })
  }
  const others = [
    ...(system === undefined
      ? []
      : [`"system":${typeof system === 'string' ? JSON.stringify(system) : listText(system)}`]),
    ...(tools ? [`"tools":${listText(tools)}`] : []),
  ]
  const rest = others.map((text) => `,${text}`).join('')
  return hash
    .copy()
    .update(`${joined(said, length, said.length)}]${rest}}`)
    .digest('hex')
}

const opening = '{"messages":['

const joined = (said: readonly string[], from: number, to: number): string =>
  `${from > 0 && from < to ? ',' : ''}${said.slice(from, to).join()}`

const listText = (parts: readonly Part[]): string => `[${parts.map(textOf).join()}]`

const messageTexts = new WeakMap<readonly Part[], { readonly role: string; readonly text: string }>()

const messageText = ({ role, content }: Sent['messages'][number]): string => {
  const known = messageTexts.get(content)
  if (known?.role === role) return known.text
  const text = `{"content":${listText(content)},"role":"${role}"}`
  messageTexts.set(content, { role, text })
  return text
}

const isMarked = ({ content }: Sent['messages'][number]): boolean =>
  content.some((block) => 'cache_control' in block)

/** How many messages the next request will probably begin with: the last two breakpoints move on with the conversation. */
const stableIn = (messages: Sent['messages']): number => {
  let moving = 0
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]
    if (message && isMarked(message)) moving++
    if (moving === 2) return index
  }
  return moving > 0 ? messages.findLastIndex(isMarked) : Math.max(0, messages.length - 1)
}
