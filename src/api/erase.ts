import { left, type TaskEither } from 'fp-ts/lib/TaskEither.js'
import { holdKind, holdText, type OldestLegalHold } from '../conversation/beside/hold.ts'
import type { NoteKeeper } from '../conversation/beside/note-keeper.ts'
import type { ConversationHandle } from '../conversation/conversation.ts'
import type { EraseError, EraseOptions, ErasedContent } from '../conversation/writing/erase.ts'
import { catchTyped, orThrow, type Fallible, task, unwrap } from '../result/fallible.ts'
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
  dryRun: kinds.flag,
}

/** Returns the method that erases content of a conversation. */
export const createEraseMethod =
  (chat: ConversationHandle) =>
  (options: EraseOptions = {}): TaskEither<EraseError, ErasureReport> =>
    task(async function* (): Fallible<EraseError, ErasureReport> {
      const given: EraseOptions = yield* unwrap(checkOptions(options, optionKinds))
      const isPart = !given.again && (given.positions !== undefined || given.before !== undefined)
      const erased = isPart ? (yield* chat.erase({ ...given, dryRun: true })).positions : []
      const find = yield* catchTyped<ReadError, FindRepeated>(() => repeatFinder(chat, erased))
      const erasure = yield* chat.erase(given)
      return { ...erasure, repeated: yield* catchTyped<ReadError, readonly RepeatingPlace[]>(find) }
    })

/** Name of the person who begins or ends a legal hold, and the reason. */
export interface HoldOptions {
  readonly by: string
  readonly reason?: string | undefined
}

/** The name holds nothing, but others do: nothing was released. */
export interface CannotRelease {
  readonly _tag: 'CannotRelease'
  readonly message: string
  readonly conversation: string
}
export type ReleaseError = NoteError | CannotRelease

const cannotRelease = (conversation: string, by: string, held: OldestLegalHold): CannotRelease => ({
  _tag: 'CannotRelease',
  message: `nothing was released: conversation ${conversation} is under ${holdText(held)}, not of ${by}: palimpsest release ${conversation} --by ${held.by}`,
  conversation,
})

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
    const held = yield* chat.holder()
    // A `by` that is no name is refused below.
    if (held && optionKinds.by.is(by) && ![held, ...(held.others ?? [])].some((one) => one.by === by))
      return yield cannotRelease(chat.id, String(by), held)
    yield* note(options, { released: true })
  }
  return {
    hold: (options: HoldOptions): TaskEither<NoteError, void> => task(() => note(options, {})),
    release: (options: HoldOptions): TaskEither<ReleaseError, void> => task(() => release(options)),
    legalHold: (): TaskEither<StoreError, OldestLegalHold | undefined> => task(() => chat.holder()),
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
    for (const link of await orThrow(chat.links())) look({ kind: 'link', position: link.revision }, link)
    let revision = 0
    for await (const { data } of chat.stored({ turns: true }))
      look({ kind: 'turn', position: revision++ }, JSON.parse(data))
    return repeated
  }
}
