import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { invalidInput } from '../../events/errors.ts'
import { toError } from '../../result/typed-error.ts'
import { hashOf } from '../../events/codec.ts'
import { chainBroken } from '../ledger/errors.ts'
import { parseNote } from '../ledger/notes.ts'
import { timestampLines } from '../ledger/timestamp.ts'
import { createCallCounter } from '../../agent/receipts/calls.ts'
import { historyOf } from '../../agent/receipts/history-of.ts'
import { catchTyped, unwrap, orThrow, run, type Fallible, task } from '../../result/fallible.ts'
import { checkExport, type WithheldEvents } from './check-export.ts'
import {
  draftOf,
  emptyFolder,
  waitForAll,
  orNothing,
  type FileWriter,
  writeWhole,
  createFile,
} from './folder.ts'
import {
  bundleFormat,
  type ConversationEnds,
  files,
  type Manifest,
  rotationsIn,
  type TurnsPart,
} from './manifest.ts'
import {
  type ResolvedEvidenceOptions,
  resolveOptions,
  type EvidenceOptions,
  type WholeProof,
} from './options.ts'
import { createTurnFilter } from './repeats.ts'
import { verifier } from '../verifier.ts'
import { readme } from './readme.ts'
import { requestWriter } from './request-lines.ts'
import { type Omission, showCall } from './show-call.ts'
import type { RepeatedText } from './repeats.ts'
import { stillTold } from './still-told.ts'
import type { EvidenceError, EvidenceSource } from './source.ts'
import type { TaintedSummary } from './taint.ts'
import { erasedStub, withheldText } from '../../events/withheld.ts'

/** Summary of a written evidence bundle. */
export interface Evidence {
  readonly conversation: string
  readonly events: number
  /** Number of requests in the bundle. */
  readonly requests: number
  /** Calls whose requests are omitted: each call's number, the position of its reply, and the reason. */
  readonly omitted: readonly { readonly call: number; readonly position: number; readonly why: Omission }[]
  /** Positions of the withheld events, including the erased ones. */
  readonly withheld: readonly number[]
  /** Positions of the events whose content was erased. */
  readonly erased: readonly number[]
  /**
   * Number of events recorded by the conversation's turns, and the revisions of the events withheld because they refer to withheld
   * content.
   */
  readonly turns: TurnsPart
  /** Summaries in the bundle that were made from withheld events. */
  readonly tainted: readonly TaintedSummary[]
  /** Events in the bundle that repeat a withheld text verbatim. */
  readonly repeated: readonly RepeatedText[]
  readonly bytes: { readonly events: number; readonly requests: number }
  /** Position of the first event that does not contain the hash of the one before it; only with `force`, and only if there is one. */
  readonly broken?: number
}

/**
 * Writes the evidence for a conversation into a folder, with a program that verifies it (docs/evidence.md). The evidence consists of
 * the conversation's events byte for byte, the events of the conversations that it was forked from, and the request of every call with
 * a receipt.
 *
 * Memory: the effective history, a key for each distinct part of the requests, and the receipts. A failed export leaves no files.
 * Errors: `FileExists` if the folder is not empty; `CallOutOfRange` if one of the calls does not exist; `SealContradicted` if an event
 * does not contain the hash of the one before it, and `SecretsFound` if the content has what looks like secrets, unless `force` is set.
 */
export const exportEvidence = (
  chat: EvidenceSource,
  options: EvidenceOptions,
): TaskEither<EvidenceError, Evidence> => task(() => exported(chat, options))

async function* exported(chat: EvidenceSource, options: EvidenceOptions): Fallible<EvidenceError, Evidence> {
  const last = yield* unwrap(chat.position())
  const chosen = yield* resolveOptions(options, last)
  return yield* catchTyped(async () => {
    const withheld = await checkExport(chat, { ...chosen, last }, withheldText)
    const { folder, onReady, force } = chosen
    if (!force) {
      // Loaded when it is needed: it knows the rules for secrets.
      const { refuseSecretsInBundle } = await import('../../transfer/disclosure/prepare.ts')
      await refuseSecretsInBundle(chat, last, chosen.withheld)
    }
    const made = await orThrow(run(emptyFolder(folder)))
    const events = await orNothing({ made, files: [] }, () => createFile(folder, files.events, onReady))
    const all = Object.values(files).flatMap((name) => [join(folder, name), join(folder, draftOf(name))])
    return orNothing({ made, files: all }, () => written(chat, chosen, { events, withheld, last }))
  })
}

/** State of an export after all checks have passed. */
interface Ready {
  /** Writer of `events.txt`, the first file of a bundle. */
  readonly events: FileWriter
  readonly withheld: WithheldEvents
  readonly last: number
}

const written = async (
  chat: EvidenceSource,
  chosen: ResolvedEvidenceOptions,
  ready: Ready,
): Promise<Evidence> => {
  const { folder, ledger } = chosen
  const chain = await writeEvents(chat, ready, chosen.force)
  const { bytes, ...sent } = await writeRequests(chat, chosen, ready)
  const { requests, omitted } = sent
  const turns = await writeTurns(chat, chosen, ready)
  const { bytes: eventBytes, erased, broken, ...ends } = chain
  const withheld = [...new Set([...ready.withheld.instead.keys(), ...erased])].toSorted((a, b) => a - b)
  const manifest: Manifest = {
    format: bundleFormat,
    conversation: chat.id,
    ...ends,
    withheld,
    requests,
    turns,
    ...(ledger && { ledger: { entries: ledger.entries.length, sealed: ledger.sealed } }),
  }
  // Written concurrently, because each write waits for the disk. The manifest, which makes the folder a bundle, is written last.
  await waitForAll(
    [
      ...(ledger
        ? [
            [files.checkpoint, ledger.checkpoint] as const,
            [files.entries, entryLines(ledger)] as const,
            [files.keys, `${JSON.stringify({ rotations: rotationsIn(ledger) })}\n`] as const,
          ]
        : []),
      [files.verifier, verifier()] as const,
      [files.readme, readme(manifest, omitted.length, authoritiesIn(ledger))] as const,
    ].map(([name, text]) => writeWhole(folder, name, text)),
  )
  await writeWhole(folder, files.manifest, `${JSON.stringify(manifest, undefined, 2)}\n`)
  const sizes = { events: eventBytes, requests: bytes }
  return {
    conversation: chat.id,
    events: ready.last + 1,
    withheld,
    erased,
    turns,
    ...sent,
    bytes: sizes,
    ...(broken !== undefined && { broken }),
  }
}

const entryLines = ({ entries }: WholeProof): string =>
  entries
    .map(({ name, revision, position, index, proof }) => ({ name, revision, position, index, proof }))
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join('')

/** Returns the names of the authorities that timestamped the checkpoint, omitting names that are unsafe in a shell command. */
const authoritiesIn = (ledger: ResolvedEvidenceOptions['ledger']): readonly string[] => {
  const note = parseNote(ledger?.checkpoint ?? '')
  const names = E.isRight(note) ? timestampLines(note.right).map(({ name }) => name) : []
  return names.filter((name) => !/['`]/.test(name))
}

interface Chain extends ConversationEnds {
  /** Positions of the erased events, ascending. */
  readonly erased: readonly number[]
  readonly bytes: number
  readonly broken: number | undefined
}

const writeEvents = async (
  chat: EvidenceSource,
  { events: file, withheld, last }: Ready,
  force: boolean,
): Promise<Chain> => {
  let position = 0
  let first = 0
  let head: string | null = null
  const erased: number[] = []
  let broken: number | undefined
  for await (const event of chat.stored({ to: last })) {
    const { id, type, data, metadata } = event
    if (type === 'Forked') first = position
    if (prevIn(metadata) !== head) {
      if (!force) throw toError(chainBroken(chat.id, position))
      broken ??= position
    }
    const isErased = erasedStub(metadata) !== undefined
    if (isErased) erased.push(position)
    // What is left of an erased event has another text than the one that its hash proves.
    const instead = withheld.instead.get(position) ?? (isErased ? withheldText(event) : undefined)
    await file.write(instead ?? `${id}\n${type}\n${data}\n${metadata}\n`)
    head = hashOf(event)
    position++
  }
  await file.close()
  return { first, last, head: head ?? '', erased, bytes: file.bytes(), broken }
}

/** Returns the hash that an event states of the event before it; undefined if its metadata cannot be read. */
const prevIn = (metadata: string): unknown => {
  try {
    return (JSON.parse(metadata) as { readonly prev?: unknown } | null)?.prev
  } catch {
    return undefined
  }
}

/**
 * Writes the events recorded by the conversation's turns. Withholds events about the calls of withheld replies and events that contain
 * a withheld text.
 */
const writeTurns = async (
  chat: EvidenceSource,
  { folder, withheld }: ResolvedEvidenceOptions,
  ready: Ready,
): Promise<TurnsPart> => {
  const file = await createFile(folder, files.turns)
  const hides = createTurnFilter(withheld, ready.withheld.hidden)
  const hidden: number[] = []
  let count = 0
  for await (const event of chat.stored({ turns: true })) {
    const isHidden = hides(event) || erasedStub(event.metadata) !== undefined
    const instead = isHidden ? withheldText(event) : undefined
    if (isHidden && instead === undefined) throw toError(invalidInput('withhold', unhidden(count)))
    if (isHidden) hidden.push(count)
    const { id, type, data, metadata } = event
    await file.write(instead ?? `${id}\n${type}\n${data}\n${metadata}\n`)
    count++
  }
  await file.close()
  return { events: count, withheld: hidden }
}

const unhidden = (revision: number): string =>
  `event ${revision} in the stream of its turns refers to withheld content but cannot be withheld, because it was written by another program: its hash cannot be proven without its text`

interface Requests extends Pick<Evidence, 'requests' | 'omitted' | 'tainted' | 'repeated'> {
  readonly bytes: number
}

const writeRequests = async (
  chat: EvidenceSource,
  chosen: ResolvedEvidenceOptions,
  { withheld, last }: Ready,
): Promise<Requests> => {
  const parts = await createFile(chosen.folder, files.parts)
  const lines = await createFile(chosen.folder, files.requests)
  const history = historyOf((at) => orThrow(chat.context({ at })))
  const callsOf = createCallCounter()
  const still = stillTold(withheld.hidden)
  const add = requestWriter()
  const omitted: Evidence['omitted'][number][] = []
  let requests = 0
  for await (const event of chat.events({ to: last })) {
    const { position } = event
    const asked = new Set<string>()
    for (const call of callsOf(event)) {
      // Two parts of a summary may have the same request. The bundle does not reveal that a withheld event has a receipt.
      if (asked.has(call.receipt.digest) || chosen.withheld.has(position)) continue
      asked.add(call.receipt.digest)
      const shown = await showCall(call, chosen, history.at)
      if (typeof shown === 'string') {
        omitted.push({ call: call.number, position, why: shown })
        continue
      }
      const made = add(position, shown)
      await parts.write(made.parts)
      await lines.write(`${JSON.stringify(made.line)}\n`)
      requests++
    }
    history.pass(event)
    await still.pass(event, history.at)
  }
  await waitForAll([parts.close(), lines.close()])
  return { requests, omitted, ...still.told(), bytes: parts.bytes() + lines.bytes() }
}
