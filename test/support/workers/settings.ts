import * as E from 'fp-ts/lib/Either.js'
import type { WorkerSettings } from '../../../src/agent/workers/serving/shift.ts'

/** A worker whose attempts fail, unless it is told how to give turns. */
export const settingsWith = (settings: Partial<WorkerSettings> = {}): WorkerSettings => ({
  slots: 1,
  conversations: [''],
  ttl: 10_000,
  rankWait: 25,
  grace: 0,
  settleAfter: 5_000,
  begin: (chat) => chat.position()(),
  give: () => Promise.resolve(E.left({ _tag: 'ModelFailed', message: 'no' })),
  onStep: () => {},
  ...settings,
})
