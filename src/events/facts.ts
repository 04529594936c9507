import * as E from 'fp-ts/lib/Either.js'
import type { z } from 'zod'
import { decodeAs, encodeAs, type StoredEvent } from './codec.ts'
import type { DecodeFailed, EventTooLarge, InvalidInput } from './errors.ts'
import type { DeepReadonly, Metadata } from './events.ts'

// Facts are events in streams other than the conversations' own: notes, inboxes, and the records of turns and workers.

type Schemas = Readonly<Record<string, z.ZodType>>

export type DataOf<S extends Schemas> = { readonly [T in keyof S]: DeepReadonly<z.infer<S[T]>> }

/** A fact, tagged on `type`, without its revision, id and metadata. */
export type FactOf<S extends Schemas, T extends keyof S> = {
  readonly [K in T]: { readonly type: K; readonly data: DataOf<S>[K] }
}[T]

/** Revision, id and metadata of a fact. */
export interface FactEnvelope {
  /** 0-based index of the fact in its stream. */
  readonly revision: number
  readonly id: string
  readonly metadata: Metadata
}

// Named types, because the declarations of the package would otherwise repeat them and import a file of fp-ts that does not exist.
/** Encodes a fact in the same way as `encode` encodes an event. */
export type EncodeFact<S extends Schemas> = (
  fact: FactOf<S, keyof S>,
  id: string,
  metadata: Omit<Metadata, 'schema'>,
) => E.Either<InvalidInput | EventTooLarge, StoredEvent>

/** Decodes a fact in the same way as `decode` decodes an event. */
export type DecodeFact<S extends Schemas> = (
  stored: StoredEvent,
  place: { readonly stream: string; readonly revision: number },
) => E.Either<DecodeFailed, FactOf<S, keyof S> & FactEnvelope>

/** Encoder and decoder for the facts in one kind of stream. */
export interface Codec<S extends Schemas> {
  readonly encode: EncodeFact<S>
  readonly decode: DecodeFact<S>
}

export const codecOf = <S extends Schemas>(schemas: S): Codec<S> => ({
  encode: (fact, id, metadata) => {
    const { type, data } = fact as { readonly type: keyof S & string; readonly data: unknown }
    return encodeAs(schemas[type] as z.ZodType, { type, data }, id, metadata)
  },
  decode: (stored, { stream, revision }) =>
    E.map(
      (decoded: object) => ({ ...decoded, revision, id: stored.id }) as FactOf<S, keyof S> & FactEnvelope,
    )(decodeAs(schemas, stored, { stream, revision })),
})
