import * as E from 'fp-ts/lib/Either.js'
import type { StoredEvent } from '../../events/codec.ts'
import { type Content, contentOf } from './content.ts'
import { blobsMark } from '../marks.ts'
import type { Literal } from './literals.ts'

/** A reference from an event's data to a blob. */
export interface Reference {
  /** Offset of the placeholder `sha256:…` in the stored data text, after the quote, in UTF-16 code units. */
  readonly at: number
  /** SHA-256 of the blob, in hex. */
  readonly sha256: string
  readonly bytes: number
  /** True if the blob contains the text between the quotes, including escapes; absent if it contains the string's value. */
  readonly raw?: true
}

/** An event as stored, and the content that was moved out of it. */
export interface SplitEvent {
  readonly event: StoredEvent
  readonly contents: readonly Content[]
}

/** Maximum bytes of a reference in the metadata and its placeholder in the data together. */
export const referenceBytes = 240

/** Reports whether references can be added to an event, which requires its metadata to be an object. */
export const canBeCut = ({ metadata }: StoredEvent): boolean => metadata.startsWith('{')

/** Replaces the literals, given in order, with placeholders, and adds references to the literals' contents to the metadata. */
export const cutLiterals = (event: StoredEvent, literals: readonly Literal[]): SplitEvent => {
  const contents: Content[] = []
  const references: Reference[] = []
  let data = ''
  let end = 0
  for (const { from, to } of literals) {
    const content = contentOf(event.data.slice(from, to))
    const { sha256, bytes, isRaw } = content
    data += event.data.slice(end, from)
    references.push({ at: data.length, sha256, bytes, ...(isRaw && { raw: true }) })
    data += placeholderOf(sha256)
    contents.push(content)
    end = to
  }
  const rest = event.metadata.slice(1)
  const comma = /^\s*\}/.test(rest) ? '' : ','
  return {
    event: {
      ...event,
      data: data + event.data.slice(end),
      metadata: `${blobsMark}${JSON.stringify(references)}${comma}${rest}`,
    },
    contents,
  }
}

const placeholderOf = (sha256: string): string => `sha256:${sha256}`

/**
 * Returns the references of an event whose content was moved out; undefined if the references do not have the form that `cutLiterals`
 * writes.
 */
export const referencesOf = ({ metadata }: StoredEvent): readonly Reference[] | undefined => {
  try {
    const references: unknown = JSON.parse(metadata.slice(blobsMark.length, endOfReferences(metadata)))
    return Array.isArray(references) && references.every(isReference) ? references : undefined
  } catch {
    return undefined
  }
}

/** Returns the index at which the references end. They contain only numbers and hex digits, so the first closing bracket ends them. */
const endOfReferences = (metadata: string): number => metadata.indexOf(']') + 1

const isReference = (value: unknown): value is Reference => {
  const { at, sha256, bytes } = (value ?? {}) as Partial<Reference>
  return (
    Number.isSafeInteger(at) &&
    Number.isSafeInteger(bytes) &&
    typeof sha256 === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256)
  )
}

/**
 * Restores an event byte for byte to its state before `cutLiterals`.
 *
 * @param textsOf returns the text between the quotes, in pieces
 * @returns left: the first reference whose placeholder is missing
 */
export const restoreLiterals = <S extends StoredEvent>(
  event: S,
  references: readonly Reference[],
  textsOf: (reference: Reference) => readonly string[],
): E.Either<Reference, S> => {
  let data = ''
  let end = 0
  for (const reference of references) {
    const placeholder = placeholderOf(reference.sha256)
    const { at } = reference
    if (at < end || !event.data.startsWith(placeholder, at)) return E.left(reference)
    data += event.data.slice(end, at)
    for (const text of textsOf(reference)) data += text
    end = at + placeholder.length
  }
  const rest = event.metadata.slice(endOfReferences(event.metadata))
  return E.right({
    ...event,
    data: data + event.data.slice(end),
    metadata: `{${rest.startsWith(',') ? rest.slice(1) : rest}`,
  })
}
