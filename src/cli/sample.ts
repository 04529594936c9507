import { createReadStream } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import type { Model, Store } from '../index.ts'
import { packageFile } from './package.ts'

/** Ids of the conversations in the sample with receipts. The first one is the conversation to open. */
export const sampleIds = ['hours-invoice', 'hours-invoice-other-way', 'hours-invoice.explore'] as const

/** Loads the sample with receipts if it is missing. The last call of the sample waits for approval. */
export const loadSample = async (store: Store): Promise<void> => {
  const file = 'receipts.jsonl'
  await store.importSession({ file, bytes: createReadStream(packageFile(`examples/sessions/${file}`)) })
  const chat = store.conversation(sampleIds[0])
  const last = (await chat.effective()).at(-1)
  const isOpen = last?.kind === 'message' && last.content.some(({ type }) => type === 'tool_use')
  if (!isOpen || (await chat.waiting()).length > 0) return
  const publish = { idempotent: true, approve: true, run: () => 'Published.' }
  // The turn requests the approval and ends before it calls a model.
  await chat.turn({ client: nobody, model: 'claude-opus-5-5', parameters, run: { publish } })
}

const parameters = { thinking: { type: 'adaptive' }, max_tokens: 800 }
const refused = async () =>
  E.left({
    _tag: 'ModelFailed' as const,
    message: 'The sample has no model: run your own worker for it.',
  })
const nobody: Model = { call: refused, countTokens: refused }
