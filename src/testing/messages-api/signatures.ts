import { createHash, createHmac, type Hash } from 'node:crypto'
import type { ApiBlock } from './blocks.ts'
import { canonical, digest, lazyCanonical } from './canonical.ts'
import {
  isThinking,
  pathOf,
  type PlacedBlock,
  problem,
  type ApiRefusal,
  type ParsedRequest,
  textOf,
} from './request.ts'
import { isFull } from './rules.ts'

// A thinking block is valid only after the same content as when it was produced. Its signature, sealed with an HMAC, covers:
// - everything before it except thinking: system, tools, every block with its role, and the settings of messages;
// - the previous thinking block. In a request, either that block or none may precede it: thinking may be omitted from the beginning;
// - its own text;
// - its reply, and the number of thinking blocks in the reply: the latest message with thinking must be complete.
// So a block omitted in the middle invalidates the next one; blocks omitted at the end are not noticed.

interface Claim {
  readonly before: string
  readonly previous: string
  readonly text: string
  readonly reply: string
  readonly count: number
}

export interface Signatures {
  /**
   * Returns the first problem with a signature in a request: the signature of a thinking block (predicates 11 and 12) or of a
   * compaction block.
   */
  readonly problem: (request: ParsedRequest) => ApiRefusal | undefined
  /** Signs the thinking and compaction blocks of a reply, replacing existing signatures. */
  readonly sign: (request: ParsedRequest, reply: string, content: readonly ApiBlock[]) => readonly ApiBlock[]
}

const maxOpened = 10_000

/**
 * Returns functions that create and check signatures with a secret.
 *
 * @param foreign true to accept signatures that were not created with this secret
 */
export const signatures = (secret: string, foreign: boolean): Signatures => {
  const macOf = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url')
  const seal = (claim: unknown): string => {
    const text = Buffer.from(JSON.stringify(claim)).toString('base64url')
    return `${text}.${macOf(text)}`
  }
  /** Decoded signatures, cached because every request of a conversation repeats them. */
  const opened = new Map<string, unknown>()
  const open = (sealed: string): unknown => {
    const known = opened.get(sealed)
    if (known !== undefined) return known
    const [text = '', mac] = sealed.split('.')
    if (mac !== macOf(text)) return undefined
    if (opened.size === maxOpened) opened.clear()
    const claim: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    opened.set(sealed, claim)
    return claim
  }

  const compactionProblem = (part: PlacedBlock): ApiRefusal | undefined => {
    const { signature, ...rest } = part.block
    const claim = typeof signature === 'string' ? open(signature) : undefined
    if (claim === undefined)
      return foreign
        ? undefined
        : problem(
            `${pathOf(part)}: Invalid \`signature\` in \`compaction\` block`,
            'compaction_signature_invalid',
          )
    return claim === digest(canonical(rest))
      ? undefined
      : problem(
          `${pathOf(part)}: the content of the \`compaction\` block differs from what its \`signature\` recorded`,
          'compaction_content_mismatch',
        )
  }

  const thinkingProblem = (request: ParsedRequest): ApiRefusal | undefined => {
    const latest = request.turns.findLast(
      ({ role, parts }) => role === 'assistant' && parts.some(hasThinking),
    )
    if (!latest) return undefined
    const hash = beginning(request)
    const counts = new Map<string, { readonly part: PlacedBlock; left: number }>()
    let previous = ''
    for (const part of prefixOf(request)) {
      if (typeof part === 'string') {
        hash.update(part)
        continue
      }
      if (!hasThinking(part)) {
        extend(hash, part)
        continue
      }
      const signature = signatureOf(part.block)
      const claim = open(signature) as Claim | undefined
      if (!claim && (signature === '' || !foreign)) return invalid(part)
      if (claim && claim.text !== textDigest(part.block))
        return latest.parts.includes(part) ? modified(part) : invalid(part)
      if (claim && claim.before !== digestOf(hash)) return bound(part)
      if (claim && previous !== '' && claim.previous !== digest(previous)) return bound(part)
      if (claim && latest.parts.includes(part)) {
        const count = counts.get(claim.reply) ?? { part, left: claim.count }
        count.left--
        counts.set(claim.reply, count)
      }
      previous = signature
    }
    const partial = counts.values().find(({ left }) => left !== 0)
    return partial && modified(partial.part)
  }

  return {
    problem: (request) => {
      const [first] = request.parts
      return (first && isFull(first.block) ? compactionProblem(first) : undefined) ?? thinkingProblem(request)
    },
    sign: (request, reply, content) => {
      const count = content.filter(isThinking).length
      let hash = count > 0 ? beginning(request) : undefined
      for (const part of hash ? prefixOf(request) : []) {
        if (typeof part === 'string') hash?.update(part)
        else if (hash && !hasThinking(part)) extend(hash, part)
      }
      let previous = signatureOf(request.parts.findLast(hasThinking)?.block)
      return content.map((block) => {
        if (isFull(block)) {
          const { signature: _, ...rest } = block
          // The compaction replaces everything before it: later content is bound to the compaction only.
          if (hash) hash = extend(beginning(request), spoken(block))
          previous = ''
          return { ...rest, type: block.type, signature: seal(digest(canonical(rest))) }
        }
        if (hash && isThinking(block)) {
          const text = textDigest(block)
          const claim: Claim = { before: digestOf(hash), previous: digest(previous), text, reply, count }
          previous = seal(claim)
          return { ...block, [block.type === 'thinking' ? 'signature' : 'data']: previous }
        }
        if (hash) extend(hash, spoken(block))
        return block
      })
    },
  }
}

/** Yields the blocks of a request, with the settings that messages have, as texts. */
function* prefixOf({ turns }: ParsedRequest): Generator<PlacedBlock | string> {
  for (const { parts, settings } of turns) {
    if (settings) yield `\nsettings${settings()}`
    yield* parts
  }
}

const spoken = (block: ApiBlock): Spoken => ({ role: 'assistant', block, text: lazyCanonical(block) })

const hasThinking = ({ block }: PlacedBlock): boolean => isThinking(block)

const signatureOf = (block: ApiBlock | undefined): string =>
  textOf(block, block?.type === 'thinking' ? 'signature' : 'data')

const textDigest = (block: ApiBlock): string => digest(textOf(block, 'thinking'))

const beginning = ({ frame }: ParsedRequest): Hash => createHash('sha256').update(frame())

type Spoken = Pick<PlacedBlock, 'role' | 'block' | 'text'>

/** Extends the hash by a block. A compaction block counts without its role and signature; its signature is checked separately. */
const extend = (hash: Hash, { role, block, text }: Spoken): Hash => {
  if (!isFull(block)) return hash.update(`\n${role}${text()}`)
  const { signature: _, ...rest } = block
  return hash.update(`\n${canonical(rest)}`)
}

const digestOf = (hash: Hash): string => hash.copy().digest('base64url')

const invalid = (part: PlacedBlock): ApiRefusal =>
  problem(`${pathOf(part)}: Invalid \`signature\` in \`${part.block.type}\` block`)

const bound = (part: PlacedBlock): ApiRefusal =>
  problem(`${invalid(part).message}. The block is bound to a different conversation. Remove the block.`)

const modified = (part: PlacedBlock): ApiRefusal =>
  problem(
    `${pathOf(part)}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
  )
