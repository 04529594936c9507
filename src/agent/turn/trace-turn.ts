import * as E from 'fp-ts/lib/Either.js'
import { inSpan } from '../telemetry/spans.ts'
import type { ResolvedTurnOptions } from './options.ts'
import type { TurnResult, TurnError } from './turn-result.ts'

/** Errors that end a turn early but do not indicate a fault. */
const harmless: ReadonlySet<string> = new Set<TurnError['_tag']>([
  'NothingToAnswer',
  'TurnCancelled',
  'ModelAborted',
  'StaleContext',
])

/** Runs a turn in a span that contains the spans of its model and tool calls. */
export const traceTurn = (
  conversation: string,
  { model, client: { form } }: Pick<ResolvedTurnOptions, 'model' | 'client'>,
  give: () => Promise<E.Either<TurnError, TurnResult>>,
): Promise<E.Either<TurnError, TurnResult>> =>
  inSpan(
    'invoke_agent',
    () => ({
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': form ? 'openai' : 'anthropic',
        'gen_ai.request.model': model,
      },
      inherited: { 'gen_ai.conversation.id': conversation },
    }),
    async (span) => {
      const turned = await give()
      const ended = E.isRight(turned) ? turned.right.ended : turned.left._tag
      span?.set({ 'palimpsest.turn.ended': ended })
      if (E.isLeft(turned) && !harmless.has(ended)) span?.failed(ended)
      return turned
    },
  )
