import { on } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import * as E from 'fp-ts/lib/Either.js'
import type { ConversationPlan, ImportPlan, StoredConversation, StoredImport } from './formats/plan.ts'
import type { ReaderResult, ShelvedPlan, ReaderTask } from './read-apart.ts'
import { readSession, readText } from './read-session.ts'
import { fileShelf, isTemporaryFileFailed } from './shelf.ts'

// The thread of `readApart`. It receives the pieces of a file, then null, and sends back the places of the actions on the shelf.

const port = parentPort ?? new MessageChannel().port1
const { options, lent } = workerData as ReaderTask
const shelf = fileShelf(0, lent)

const placedOn = (plan: ImportPlan | StoredImport): ShelvedPlan => ({
  format: plan.format,
  report: plan.report,
  conversations: plan.conversations.map((each) => ({
    id: each.id,
    ...('withdrawn' in each && each.withdrawn && { withdrawn: each.withdrawn }),
    places: Array.from(valuesOf(each), (value) => shelf.put(value)),
    ...(each.notes && { notes: Array.from<unknown, number>(each.notes, (value) => shelf.put(value)) }),
  })),
})

function* valuesOf(plan: ConversationPlan | StoredConversation): Generator {
  yield* 'actions' in plan ? plan.actions : plan.events
}

const answer = async (): Promise<ReaderResult> => {
  const pieces: (Uint8Array | string)[] = []
  for await (const [piece] of on(port, 'message')) {
    if (piece === null) break
    pieces.push(piece as Uint8Array | string)
  }
  const texts = pieces.filter((piece) => typeof piece === 'string')
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    for (const piece of pieces.splice(0)) if (typeof piece !== 'string') yield piece
  }
  try {
    const plan =
      texts.length > 0
        ? await readText({ ...options, text: texts.join('') }, shelf)
        : await readSession({ ...options, bytes: bytes() }, shelf)
    const read = E.map(placedOn)(plan)
    return { read, lent: shelf.lend() }
  } catch (error) {
    if (isTemporaryFileFailed(error)) return { failed: { ...error, message: error.message } }
    throw error
  }
}

port.postMessage(await answer())
