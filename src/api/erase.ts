import { left, type TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { CoveringHold } from '../conversation/beside/hold-finder.ts'
import { holdKind, holdText, type OldestLegalHold } from '../conversation/beside/hold.ts'
import type { NoteKeeper } from '../conversation/beside/note-keeper.ts'
import type { ConversationHandle } from '../conversation/conversation.ts'
import type { EraseError, EraseOptions, ErasedContent } from '../conversation/writing/erase.ts'
import { catchTyped, orThrow, type Fallible, run, task, unwrap } from '../result/fallible.ts'
import { checkOptions, isListOf, kinds, type OptionKinds } from '../store/options.ts'
import { invalidInput } from '../events/errors.ts'
import type { NoteError, ReadError, StoreError } from '../store/errors.ts'
import type { RepeatingPlace } from '../transfer/disclosure/inspect.ts'

/** Content that was erased, and the places in which words of it remain. */
export interface ErasureReport extends ErasedContent {
  /**
   * Places in the conversation that repeat words of the erased events: summaries, replies, notes, records of turns. They are not erased,
   * unless they are named, too. Empty if everything was erased.
   */
  readonly repeated: readonly RepeatingPlace[]
  /** Conversations of its subagents, and of theirs, that still have content (with `before`, content that is older). */
  readonly subagents: readonly string[]
  /** Content that was erased from those conversations; absent without `withSubagents`. */
  readonly fromSubagents?: readonly ErasedContent[]
}

const isPosition = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0
const positions = {
  is: (value: unknown) => isListOf(value, isPosition),
  needed: 'must be a list of positions, 0 or more',
}
const optionKinds: OptionKinds<EraseOptions> = {
  positions,
  notes: positions,
  before: {
    is: (value) => value instanceof Date && !Number.isNaN(value.getTime()),
    needed: 'must be a valid Date',
  },
  by: { is: (value) => typeof value === 'string' && value !== '', needed: 'must be a name' },
  reason: kinds.text,
  again: kinds.flag,
  withSubagents: kinds.flag,
  dryRun: kinds.flag,
}

/** Returns the method that erases content of a conversation. */
export const createEraseMethod =
  (chat: ConversationHandle) =>
  (options: EraseOptions = {}): TaskEither<EraseError, ErasureReport> =>
    task(async function* (): Fallible<EraseError, ErasureReport> {
      const { withSubagents, ...given }: EraseOptions = yield* unwrap(checkOptions(options, optionKinds))
      if (withSubagents && (given.positions || given.notes))
        return yield invalidInput(
          'withSubagents',
          'erases whole conversations: leave out positions and notes',
        )
      const { before = new Date() } = given
      const chosen = withSubagents ? yield* chat.subagents(before) : []
      if (!given.dryRun)
        for (const id of chosen.length > 0 ? [chat.id, ...chosen] : [])
          yield* chat.erase({ ...given, dryRun: true }, id)
      const isPart = !given.again && (given.positions !== undefined || given.before !== undefined)
      const erased = isPart ? (yield* chat.erase({ ...given, dryRun: true })).positions : []
      const find = yield* catchTyped<ReadError, FindRepeated>(() => repeatFinder(chat, erased))
      const erasure = yield* chat.erase(given)
      const repeated = yield* catchTyped<ReadError, readonly RepeatingPlace[]>(find)
      if (!withSubagents)
        return { ...erasure, repeated, subagents: given.again ? [] : yield* chat.subagents(before) }
      const fromSubagents: ErasedContent[] = []
      for (const id of chosen) fromSubagents.push(yield* chat.erase(given, id))
      return { ...erasure, repeated, subagents: [], fromSubagents }
    })

/** Name of the person who begins or ends a legal hold, and the reason. */
export interface HoldOptions {
  readonly by: string
  readonly reason?: string | undefined
}

/** The oldest legal hold on a conversation, or on the one whose subagent it is. */
export interface CoveringLegalHold extends OldestLegalHold {
  /** The held conversation; absent if it is this one. */
  readonly conversation?: string
  /** Conversations of this one's subagents, and of theirs, which the hold covers, too; absent if there are none. */
  readonly covers?: readonly string[]
}

/** The name holds nothing, but others do: nothing was released. */
export interface CannotRelease {
  readonly _tag: 'CannotRelease'
  readonly message: string
  readonly conversation: string
}
export type ReleaseError = NoteError | CannotRelease

const cannotRelease = (id: string, by: string, { conversation, hold }: CoveringHold): CannotRelease => {
  const why =
    conversation === id
      ? `is under ${holdText(hold)}, not of ${by}`
      : `is not held itself, but as a subagent of ${conversation}, which is under ${holdText(hold)}`
  const message = `nothing was released: conversation ${id} ${why}: palimpsest release ${conversation} --by ${hold.by}`
  return { _tag: 'CannotRelease', message, conversation: id }
}

/** Returns the methods that begin and end a legal hold on a conversation, and the one that reads it. */
export const createHoldMethods = (chat: ConversationHandle) => {
  async function* note(options: HoldOptions, more: { readonly released?: true }): Fallible<NoteError, void> {
    const { by, reason } = yield* unwrap(
      checkOptions<HoldOptions>(options, { by: optionKinds.by, reason: kinds.text }),
    )
    if (by === undefined) return yield invalidInput('by', optionKinds.by.needed)
    const data = { by, ...(reason !== undefined && { reason }), ...more }
    yield* unwrap(chat.note({ kind: holdKind, data }))
  }
  async function* release(options: HoldOptions): Fallible<ReleaseError, void> {
    const by: unknown = Object(options).by
    const cover = yield* chat.holder()
    const own = cover?.conversation === chat.id ? [cover.hold, ...(cover.hold.others ?? [])] : []
    // A `by` that is no name is refused below.
    if (cover && optionKinds.by.is(by) && !own.some((one) => one.by === by))
      return yield cannotRelease(chat.id, String(by), cover)
    yield* note(options, { released: true })
  }
  return {
    hold: (options: HoldOptions): TaskEither<NoteError, void> => task(() => note(options, {})),
    release: (options: HoldOptions): TaskEither<ReleaseError, void> => task(() => release(options)),
    legalHold: (): TaskEither<StoreError, CoveringLegalHold | undefined> =>
      task(async function* (): Fallible<StoreError, CoveringLegalHold | undefined> {
        const cover = yield* chat.holder()
        if (!cover) return undefined
        const { conversation, hold } = cover
        const covers = yield* chat.subagents()
        return {
          ...hold,
          ...(conversation !== chat.id && { conversation }),
          ...(covers.length > 0 && { covers }),
        }
      }),
  }
}

/** Returns the method that adds notes. Fails for notes of legal holds, which have methods, and a scope of access tokens, of their own. */
export const createNoteMethod =
  (chat: ConversationHandle): NoteKeeper['note'] =>
  (note, options) =>
    Object(note).kind === holdKind
      ? left(invalidInput('kind', `${holdKind} is reserved: call hold or release`))
      : chat.note(note, options)

type FindRepeated = () => Promise<readonly RepeatingPlace[]>

/** Keeps the words of events that are about to be erased, and returns a function that looks for them in the rest. */
const repeatFinder = async (chat: ConversationHandle, erased: readonly number[]): Promise<FindRepeated> => {
  if (erased.length === 0) return async () => []
  const [{ createNeedleFinder }, { textListOf }] = await Promise.all([
    import('../transfer/disclosure/needles.ts'),
    import('../transfer/disclosure/texts.ts'),
  ])
  const gone = new Set(erased)
  const texts: { position: number; texts: readonly string[] }[] = []
  for await (const { position, data } of chat.events({ from: erased[0], to: erased.at(-1) }))
    if (gone.has(position)) texts.push({ position, texts: textListOf(data) })
  const find = createNeedleFinder(texts)
  return async () => {
    const repeated: RepeatingPlace[] = []
    const look = (place: RepeatingPlace['place'], value: unknown): void => {
      const found = find(textListOf(value))
      if (found) repeated.push({ place, ...found })
    }
    for await (const { position, data } of chat.events({}))
      if (!gone.has(position)) look({ kind: 'event', position }, data)
    for (const note of await orThrow(chat.notes())) look({ kind: 'note', position: note.revision }, note.data)
    for (const link of await orThrow(run(chat.ownLinks())))
      look({ kind: 'link', position: link.revision }, link)
    let revision = 0
    for await (const { data } of chat.stored({ turns: true }))
      look({ kind: 'turn', position: revision++ }, JSON.parse(data))
    return repeated
  }
}
