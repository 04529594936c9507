import * as TE from 'fp-ts/lib/TaskEither.js'
import { lazily } from '../result/lazily.ts'
import type { RetentionContext, RetentionMethods } from './retention.ts'

/** Returns the retention methods of a store. Their code is loaded on first use, because most programs never need it. */
export const lateRetention = (context: RetentionContext): RetentionMethods => {
  const load: TE.TaskEither<never, RetentionMethods> = TE.fromTask(async () =>
    (await import('./retention.ts')).createRetention(context),
  )
  return lazily(load, ['rules', 'set', 'end', 'apply', 'applyIfDue'])
}
