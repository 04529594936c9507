import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { check } from '../../events/check.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { isFields } from '../../events/json.ts'
import { currentChat } from '../models/openai/chat/chat.ts'
import type { Effective } from '../../projections/effective.ts'
import type { ModelCall } from './calls.ts'
import type { SentRequest } from './canonical.ts'
import { unknownRenderer, type UnknownRenderer } from './errors.ts'
import { type RecordedBody, recordedRenderer } from './recorded-schema.ts'
import { receiptOptionsIn } from './receipt-options.ts'
import { currentRenderer, requestOf } from './request.ts'
import { currentSummarizer, requestOfSummary, summaryOptionsSchema } from './summary-request.ts'

/** Error of a receipt that cannot be used. */
export type Unusable = InvalidInput | UnknownRenderer

/**
 * Checks everything about a call's receipt that can be checked without the log. Versions are checked first, because a newer version has
 * different options.
 */
export const checkCall = (call: ModelCall): E.Either<Unusable, ModelCall> => {
  const { kind, position, receipt } = call
  const [what, newest] =
    kind === 'summary'
      ? (['summarizer', currentSummarizer] as const)
      : (['renderer', currentRenderer] as const)
  const version = receipt.options[what]
  const isRecorded = kind === 'reply' && version === recordedRenderer
  if (typeof version === 'number' && version > newest && !isRecorded) {
    const known = Array.from({ length: newest }, (_, index) => index + 1)
    return E.left(unknownRenderer(version, known, what))
  }
  const form = formIn(receipt)
  if (isFields(form) && typeof form['version'] === 'number' && form['version'] > currentChat)
    return E.left(unknownRenderer(form['version'], [currentChat], 'form'))
  return receipt.position < position
    ? E.right(call)
    : E.left(invalidInput('position', `${receipt.position} is not before the answer`))
}

/** Returns the request form recorded in a receipt, unchecked; undefined for the Messages API's form. */
export const formIn = ({ options: { form, along } }: ModelCall['receipt']): unknown =>
  form ?? (isFields(along) ? along['form'] : undefined)

/** Returns the form of the body of a recorded request, unchecked; undefined if no recorder saw the body. */
export const bodyFormIn = ({ options: { recorded } }: ModelCall['receipt']): RecordedBody | undefined =>
  isFields(recorded) ? (recorded['body'] as RecordedBody | undefined) : undefined

/** Remakes the content of a call's request from the history and the options in the receipt. */
export const requestIn = (
  { kind, receipt }: Pick<ModelCall, 'kind' | 'receipt'>,
  effective: Effective,
): E.Either<Unusable, SentRequest> =>
  kind === 'summary'
    ? pipe(
        check(summaryOptionsSchema, receipt.options),
        E.map((options) => requestOfSummary(effective, options)),
      )
    : pipe(
        receiptOptionsIn(receipt),
        E.flatMap((options) => requestOf(effective, options)),
      )

export const reasonOf = ({ _tag, message }: Unusable): string =>
  _tag === 'UnknownRenderer' ? message : `it was changed, or written by another program (${message})`
