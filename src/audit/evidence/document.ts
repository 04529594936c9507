import { basename, dirname } from 'node:path'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { hashOf } from '../../events/codec.ts'
import { invalidInput } from '../../events/errors.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { type DocumentFormatName, documentWriter } from '../../transfer/formats/registry.ts'
import { patternRedactor } from '../../transfer/disclosure/redact.ts'
import { leaveAsIs } from '../../transfer/formats/exporter.ts'
import { historyOf } from '../../agent/receipts/history-of.ts'
import { catchTyped, unwrap, orThrow, type Fallible, task } from '../../result/fallible.ts'
import { makeFolder } from '../../store/make-folder.ts'
import { checkOptions, kinds } from '../../store/options.ts'
import { checkExport } from './check-export.ts'
import { type OnReady, onDisk, orNothing, createFile } from './folder.ts'
import { positionsIn } from './options.ts'
import type { RepeatedText } from './repeats.ts'
import { stillTold } from './still-told.ts'
import type { EvidenceError, EvidenceSource } from './source.ts'
import type { TaintedSummary } from './taint.ts'

export interface DocumentOptions {
  /** Path of the file to create; it must not exist. */
  readonly file: string
  readonly format: DocumentFormatName
  /** Positions of events to withhold; the document contains the hash and the end of the text of each, not its content. Default: none. */
  readonly withhold?: readonly number[] | undefined
  /** Pattern of texts to replace with `[redacted]`. Default: none. */
  readonly redact?: RegExp | undefined
  /** True to write a document although its content has what looks like secrets. Default false. */
  readonly force?: boolean | undefined
  /**
   * Called after all checks have passed and before any of the conversation is written, for example to record the export. If it throws,
   * the export stops.
   */
  readonly onReady?: OnReady | undefined
}

const fields = {
  file: kinds.text,
  format: kinds.text,
  withhold: kinds.anything,
  redact: kinds.anything,
  force: kinds.flag,
  onReady: kinds.call,
}

/** Summary of a written document. */
export interface WrittenDocument {
  readonly conversation: string
  readonly events: number
  readonly withheld: readonly number[]
  readonly tainted: readonly TaintedSummary[]
  readonly repeated: readonly RepeatedText[]
}

/**
 * Exports a conversation to a file in a format that other programs read (docs/interchange.md). Holds the whole log in memory. Errors:
 * `FileExists`; `SecretsFound` if the content has what looks like secrets, unless `force` is set.
 */
export const exportDocument = (
  chat: EvidenceSource,
  options: DocumentOptions,
): TaskEither<EvidenceError, WrittenDocument> => task(() => exported(chat, options))

async function* exported(
  chat: EvidenceSource,
  options: DocumentOptions,
): Fallible<EvidenceError, WrittenDocument> {
  const {
    file = '',
    format = '',
    withhold = [],
    redact,
    force = false,
    onReady,
  } = yield* unwrap(checkOptions(options, fields))
  if (file === '' || file.includes('\0')) return yield invalidInput('file', 'must be the path of a new file')
  if (redact !== undefined && !(redact instanceof RegExp))
    return yield invalidInput('redact', 'must be a regular expression, such as /sk-[a-z0-9]+/u')
  const write = await documentWriter(format)
  if (!write) return yield invalidInput('format', 'must be vcon or prov')
  const last = yield* unwrap(chat.position())
  const withheld = yield* positionsIn(withhold, last)
  return yield* catchTyped(async () => {
    const { instead: hashes, hidden } = await checkExport(chat, { withheld, lastCall: 0, last }, hashOf)
    if (!force) {
      // Loaded when it is needed: it knows the rules for secrets.
      const { refuseSecretsInDocument } = await import('../../transfer/disclosure/prepare.ts')
      await refuseSecretsInDocument(chat, last, { withheld, redact })
    }
    const { log, ...told } = await gathered(chat, { hidden, redact, last })
    const made = await onDisk(() => makeFolder(dirname(file)))
    const out = await orNothing({ made, files: [] }, () => createFile(dirname(file), basename(file), onReady))
    await orNothing({ made, files: [file] }, async () => {
      for (const piece of write(log, chat.id, hashes)) await out.write(piece)
      await out.close()
    })
    return { conversation: chat.id, events: log.length, withheld: [...hashes.keys()], ...told }
  })
}

interface Gathering {
  readonly hidden: readonly ConversationEvent[]
  readonly redact: RegExp | undefined
  readonly last: number
}

const gathered = async (chat: EvidenceSource, { hidden, redact, last }: Gathering) => {
  const withheld = new Set(hidden.map(({ position }) => position))
  const clean = redact ? patternRedactor(redact) : leaveAsIs
  const still = stillTold(hidden)
  const history = historyOf((at) => orThrow(chat.context({ at })))
  const log: ConversationEvent[] = []
  for await (const stored of chat.events({ to: last })) {
    const event = withheld.has(stored.position) ? stored : clean(stored)
    log.push(event)
    history.pass(stored)
    await still.pass(event, history.at)
  }
  return { log, ...still.told() }
}
