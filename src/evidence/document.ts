import { open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { hashOf } from '../events/codec.ts'
import { invalidInput } from '../events/errors.ts'
import type { ConversationEvent } from '../events/events.ts'
import { type DocumentFormatName, documentWriter } from '../formats/registry.ts'
import { historyOf } from '../receipts/passing.ts'
import { caught, ok, type Steps, task } from '../result/steps.ts'
import { toError } from '../result/typed.ts'
import { fileExists } from '../store/errors.ts'
import { makeFolder } from '../store/make-folder.ts'
import { checkedOptions, kinds } from '../store/options.ts'
import { onDisk } from './folder.ts'
import { positionsIn } from './options.ts'
import type { Repeated } from './repeats.ts'
import { checkWithholdable, stillTold } from './still-told.ts'
import type { EvidenceError, Source } from './source.ts'
import type { Tainted } from './taint.ts'

export interface DocumentOptions {
  /** A new file. */
  readonly file: string
  readonly format: DocumentFormatName
  /** Positions of events that are not shown: only their hashes are. Default: none. */
  readonly withhold?: readonly number[] | undefined
  /** Called once nothing is left to refuse, before anything of the conversation is written: to record the export. What it throws ends it. */
  readonly onReady?: (() => Promise<void>) | undefined
}

const fields = { file: kinds.text, format: kinds.text, withhold: kinds.anything, onReady: kinds.call }

/** A document that was written. */
export interface WrittenDocument {
  readonly conversation: string
  readonly events: number
  readonly withheld: readonly number[]
  readonly tainted: readonly Tainted[]
  readonly repeated: readonly Repeated[]
}

/**
 * Writes a conversation for other programs into a file (docs/interchange.md). Memory: the whole log. Errors: `FileExists`.
 */
export const exportDocument = (
  chat: Source,
  options: DocumentOptions,
): TaskEither<EvidenceError, WrittenDocument> => task(() => exported(chat, options))

async function* exported(chat: Source, options: DocumentOptions): Steps<EvidenceError, WrittenDocument> {
  const { file = '', format = '', withhold = [], onReady } = yield* ok(checkedOptions(options, fields))
  if (file === '' || file.includes('\0')) return yield invalidInput('file', 'must be the path of a new file')
  const write = await documentWriter(format)
  if (!write) return yield invalidInput('format', 'must be vcon or prov')
  const last = yield* ok(chat.position())
  const withheld = yield* positionsIn(withhold, last)
  return yield* caught(async () => {
    const { log, hashes, ...told } = await gathered(chat, withheld, last)
    await writeNew(file, write(log, chat.id, hashes), onReady)
    return { conversation: chat.id, events: log.length, withheld: [...hashes.keys()], ...told }
  })
}

const gathered = async (chat: Source, withheld: ReadonlySet<number>, last: number) => {
  const hashes = await hashesOf(chat, withheld, last)
  const still = await stillTold(chat, withheld)
  const history = historyOf(chat)
  const log: ConversationEvent[] = []
  for await (const event of chat.events({ to: last })) {
    log.push(event)
    history.pass(event)
    await still.pass(event, history.at)
  }
  return { log, hashes, ...still.told() }
}

/** The hashes of these events, by position, ascending. */
const hashesOf = async (
  chat: Source,
  withheld: ReadonlySet<number>,
  last: number,
): Promise<ReadonlyMap<number, string>> => {
  const hashes = new Map<number, string>()
  if (withheld.size === 0) return hashes
  let position = 0
  for await (const event of chat.stored({ to: last })) {
    if (withheld.has(position)) {
      checkWithholdable(event, position)
      hashes.set(position, hashOf(event))
    }
    position++
  }
  return hashes
}

const writeNew = async (
  file: string,
  pieces: Iterable<string>,
  onReady: DocumentOptions['onReady'],
): Promise<void> => {
  await onDisk(() => makeFolder(dirname(file)))
  const handle = await open(file, 'wx').catch((error: NodeJS.ErrnoException) => {
    throw toError(
      error.code === 'EEXIST'
        ? fileExists(file, 'exists: name a new file')
        : invalidInput('file', `cannot be written (${error.message})`),
    )
  })
  try {
    try {
      await onReady?.()
    } catch (error) {
      await rm(file)
      throw error
    }
    await onDisk(async () => {
      for (const piece of pieces) await handle.appendFile(piece)
      await handle.sync()
    })
  } finally {
    await handle.close()
  }
}
