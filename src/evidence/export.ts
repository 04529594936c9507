import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { hashOf } from '../events/codec.ts'
import { invalidInput } from '../events/errors.ts'
import { parseNote } from '../ledger/notes.ts'
import { timestampLines } from '../ledger/timestamp.ts'
import { callsIn, numberedCalls } from '../receipts/calls.ts'
import { callOutOfRange } from '../receipts/errors.ts'
import { historyOf } from '../receipts/passing.ts'
import { caught, ok, orThrow, run, type Steps, task } from '../result/steps.ts'
import { toError } from '../result/typed.ts'
import { emptyFolder, writeWhole, writing } from './folder.ts'
import { bundleFormat, files, type Manifest, rotationsIn } from './manifest.ts'
import { type Chosen, chosenIn, type EvidenceOptions } from './options.ts'
import { readme, verifier } from './readme.ts'
import { requestWriter } from './request-lines.ts'
import { type Omission, shown } from './showing.ts'
import type { Repeated } from './repeats.ts'
import { checkWithholdable, stillTold } from './still-told.ts'
import type { EvidenceError, Source } from './source.ts'
import type { Tainted } from './taint.ts'
import { withheldText } from './withheld.ts'

/** A bundle that was written. */
export interface Evidence {
  readonly conversation: string
  readonly events: number
  /** Requests that are in it. */
  readonly requests: number
  /** Calls whose requests are not, by their number and the position of the answer. */
  readonly omitted: readonly { readonly call: number; readonly position: number; readonly why: Omission }[]
  /** Positions of the events that are withheld. */
  readonly withheld: readonly number[]
  /** Summaries in it that were made of what is withheld. */
  readonly tainted: readonly Tainted[]
  /** Events in it that say a text of what is withheld again, to the letter. */
  readonly repeated: readonly Repeated[]
  readonly bytes: { readonly events: number; readonly requests: number }
}

/**
 * Writes what proves a conversation into a folder, with a program that checks it (docs/evidence.md): its events to the byte, those of the
 * conversations that it was forked from, and the request of every call with a receipt.
 *
 * Memory: what is shown, a name for each distinct block, and the receipts. Errors: `FileExists` if the folder is not empty;
 * `CallOutOfRange` if one of the calls is not there.
 */
export const exportEvidence = (chat: Source, options: EvidenceOptions): TaskEither<EvidenceError, Evidence> =>
  task(() => exported(chat, options))

async function* exported(chat: Source, options: EvidenceOptions): Steps<EvidenceError, Evidence> {
  const last = yield* ok(chat.position())
  const chosen = yield* chosenIn(options, last)
  return yield* caught(async () => {
    if (chosen.lastCall > 0) await checkCalls(chat, chosen.lastCall, last)
    const closed = await closedIn(chat, chosen.withheld, last)
    await orThrow(run(emptyFolder(chosen.folder)))
    await chosen.onReady()
    return written(chat, chosen, closed, last)
  })
}

/** Throws `CallOutOfRange` if there is no such call. */
const checkCalls = async (chat: Source, lastCall: number, last: number): Promise<void> => {
  let calls = 0
  for await (const { number } of callsIn(chat.events({ to: last }))) calls = number
  if (lastCall > calls) throw toError(callOutOfRange(chat.id, lastCall, calls))
}

/** What stands in place of these events, by position. Throws `InvalidInput` if one cannot be withheld. */
const closedIn = async (
  chat: Source,
  withheld: ReadonlySet<number>,
  last: number,
): Promise<ReadonlyMap<number, string>> => {
  const closed = new Map<number, string>()
  if (withheld.size === 0) return closed
  let position = 0
  for await (const event of chat.stored({ to: last })) {
    if (withheld.has(position)) {
      checkWithholdable(event, position)
      const text = withheldText(event)
      if (text === undefined) throw toError(invalidInput('withhold', `event ${position} ${foreign}`))
      closed.set(position, text)
    }
    position++
  }
  return closed
}

const written = async (
  chat: Source,
  chosen: Chosen,
  closed: ReadonlyMap<number, string>,
  last: number,
): Promise<Evidence> => {
  const { folder, ledger } = chosen
  const chain = await writeEvents(chat, folder, closed, last)
  const { bytes, ...sent } = await writeRequests(chat, chosen, last)
  const { requests, omitted } = sent
  const withheld = [...chosen.withheld].toSorted((a, b) => a - b)
  const { bytes: eventBytes, ...ends } = chain
  const manifest: Manifest = {
    format: bundleFormat,
    conversation: chat.id,
    ...ends,
    withheld,
    requests,
    ...(ledger && { ledger: { revision: ledger.revision, index: ledger.index, proof: ledger.proof } }),
  }
  // At once, as each waits for the disk; what makes a bundle of them comes last.
  await Promise.all(
    [
      ...(ledger
        ? [
            [files.checkpoint, ledger.checkpoint] as const,
            [files.keys, `${JSON.stringify({ rotations: rotationsIn(ledger) })}\n`] as const,
          ]
        : []),
      [files.verifier, verifier()] as const,
      [files.readme, readme(manifest, omitted.length, authoritiesIn(ledger))] as const,
    ].map(([name, text]) => writeWhole(folder, name, text)),
  )
  await writeWhole(folder, files.manifest, `${JSON.stringify(manifest, undefined, 2)}\n`)
  const sizes = { events: eventBytes, requests: bytes }
  return { conversation: chat.id, events: last + 1, withheld, ...sent, bytes: sizes }
}

/** The names of those that have signed a time for the checkpoint, as far as they are fit for a line of a shell. */
const authoritiesIn = (ledger: Chosen['ledger']): readonly string[] => {
  const note = parseNote(ledger?.checkpoint ?? '')
  const names = E.isRight(note) ? timestampLines(note.right).map(({ name }) => name) : []
  return names.filter((name) => !/['`]/.test(name))
}

interface Chain extends Pick<Manifest, 'first' | 'last' | 'head'> {
  readonly bytes: number
}

const writeEvents = async (
  chat: Source,
  folder: string,
  closed: ReadonlyMap<number, string>,
  last: number,
): Promise<Chain> => {
  const file = await writing(folder, files.events)
  let position = 0
  let first = 0
  let head = ''
  for await (const event of chat.stored({ to: last })) {
    const { id, type, data, metadata } = event
    if (type === 'Forked') first = position
    await file.write(closed.get(position) ?? `${id}\n${type}\n${data}\n${metadata}\n`)
    head = hashOf(event)
    position++
  }
  await file.close()
  return { first, last, head, bytes: file.bytes() }
}

const foreign = 'was written by another program: its hash cannot be given without its text'

interface Requests extends Pick<Evidence, 'requests' | 'omitted' | 'tainted' | 'repeated'> {
  readonly bytes: number
}

const writeRequests = async (chat: Source, chosen: Chosen, last: number): Promise<Requests> => {
  const parts = await writing(chosen.folder, files.parts)
  const lines = await writing(chosen.folder, files.requests)
  const history = historyOf(chat)
  const callsOf = numberedCalls()
  const still = await stillTold(chat, chosen.withheld)
  const add = requestWriter()
  const omitted: Evidence['omitted'][number][] = []
  let requests = 0
  for await (const event of chat.events({ to: last })) {
    const { position } = event
    const asked = new Set<string>()
    for (const call of callsOf(event)) {
      // Two parts of a summary may be one request. Of an event that is withheld, nobody is told that it has a receipt.
      if (asked.has(call.receipt.digest) || chosen.withheld.has(position)) continue
      asked.add(call.receipt.digest)
      const texts = await shown(call, chosen, history.at)
      if (typeof texts === 'string') {
        omitted.push({ call: call.number, position, why: texts })
        continue
      }
      const made = add(position, texts)
      await parts.write(made.parts)
      await lines.write(`${JSON.stringify(made.line)}\n`)
      requests++
    }
    history.pass(event)
    await still.pass(event, history.at)
  }
  await Promise.all([parts.close(), lines.close()])
  return { requests, omitted, ...still.told(), bytes: parts.bytes() + lines.bytes() }
}
