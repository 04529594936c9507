import { isDate } from 'node:util/types'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { z } from 'zod'
import { check, checkJson } from '../../events/check.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { askedSchema, metadataSchema, workspaceSchema } from '../../events/events.ts'
import type { CommandEnvelope } from './encode.ts'

/** Reports whether a value is a valid date. Reads the time through `Date.prototype`, because a subclass may override `getTime`. */
const isTime = (value: unknown): boolean => isDate(value) && !Number.isNaN(Date.prototype.getTime.call(value))

const envelopeSchema = z.object({
  commandId: z.string().min(1).max(1_000).optional(),
  now: z.custom<Date>(isTime, { error: 'must be a valid Date' }).optional(),
  correlationId: z.string().optional(),
  causationId: z.string().optional(),
  salt: metadataSchema.shape.salt,
  interrupts: z.literal(true).optional(),
  answer: askedSchema.optional(),
  workspace: workspaceSchema.optional(),
})

const actorSchema = metadataSchema.pick({ actor: true }).partial()

/** Checks the envelope in a writer's options and separates it from the other options. */
export const splitEnvelope = ({
  commandId,
  actor,
  now,
  correlationId,
  causationId,
  salt,
  interrupts,
  answer,
  workspace,
  ...input
}: CommandEnvelope & Record<string, unknown>): E.Either<
  InvalidInput,
  { readonly envelope: CommandEnvelope; readonly input: Readonly<Record<string, unknown>> }
> =>
  pipe(
    check(envelopeSchema, {
      commandId,
      now,
      correlationId,
      causationId,
      salt,
      interrupts,
      answer,
      workspace,
    }),
    E.bindTo('named'),
    E.bind('who', () => checkJson(actorSchema, { actor })),
    E.map(({ named, who }) => ({
      envelope: Object.fromEntries(
        Object.entries({ ...named, now: named.now && new Date(named.now), ...who }).filter(
          ([, value]) => value !== undefined,
        ),
      ) as CommandEnvelope,
      input,
    })),
  )

/**
 * Checks that options are an object, because JavaScript callers may pass anything, and returns a copy.
 *
 * @param example options of the method, for the error
 */
export const objectOf = (
  options: unknown,
  example = "{ commandId: 'c-1' }",
): E.Either<InvalidInput, Record<string, unknown>> =>
  typeof options === 'object' && options !== null
    ? E.right({ ...options })
    : E.left(invalidInput('options', `must be an object, like ${example}`))
