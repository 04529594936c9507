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

/** A hash of the beginning of a request, which the next request of the conversation shares. */
interface Beginning {
  readonly pieces: readonly string[]
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
  const { pieces, stable } = piecesOf(messages)
  const first = messages[0]?.content[0]
  const known = first && beginnings.get(first)
  let { length, hash } = known && begins(pieces, known) ? known : { length: 0, hash: createHash('sha256') }
  if (first && length < stable) {
    hash = hash.copy().update(pieces.slice(length, stable).join(''))
    length = stable
    beginnings.set(first, { pieces, length, hash })
  }
  const rest = [
    ']',
    ...(system === undefined ? [] : [`"system":${listText(system)}`]),
    ...(tools === undefined ? [] : [`"tools":${listText(tools)}`]),
  ]
  return hash
    .copy()
    .update(`${pieces.slice(length).join('')}${rest.join(',')}}`)
    .digest('hex')
}

const begins = (pieces: readonly string[], known: Beginning): boolean => {
  for (let index = 0; index < known.length; index++) if (pieces[index] !== known.pieces[index]) return false
  return true
}

const listText = (parts: string | readonly Part[]): string =>
  typeof parts === 'string' ? JSON.stringify(parts) : `[${parts.map(textOf).join(',')}]`

/** The canonical JSON up to the end of the last message, and how many pieces of it the next request will probably begin with. */
const piecesOf = (
  messages: Sent['messages'],
): { readonly pieces: readonly string[]; readonly stable: number } => {
  const pieces: string[] = ['{"messages":[']
  const breakpoints: number[] = []
  let end = 0
  for (const { role, content } of messages) {
    pieces.push(end > 0 ? ',{"content":[' : '{"content":[')
    for (const [at, block] of content.entries()) {
      if (at > 0) pieces.push(',')
      if (block['cache_control']) breakpoints.push(pieces.length)
      pieces.push(textOf(block))
    }
    end = pieces.length
    pieces.push(closing[role])
  }
  // The last two breakpoints move on with the conversation.
  return { pieces, stable: breakpoints.at(-2) ?? breakpoints.at(-1) ?? end }
}

const closing = {
  user: '],"role":"user"}',
  assistant: '],"role":"assistant"}',
  system: '],"role":"system"}',
}
