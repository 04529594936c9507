import { isBlock, isWellShaped } from '../events/blocks.ts'
import type { Block } from '../events/block-types.ts'
import type { Message } from '../events/event-types.ts'
import { breath } from '../store/breath.ts'
import { lastPartOf, namesEndOf } from './path-ends.ts'
import { byDistinctness, termsIn, termsUsedIn, wordsOf } from './terms.ts'

/** A list with its full length; `items` has the first ones. */
export interface CutList<T> {
  readonly count: number
  readonly items: readonly T[]
}

/** A message of a user. */
export interface AskedPrompt {
  readonly position: number
  /** Its first words. */
  readonly text: string
}

/** A tool call whose result is an error. */
export interface FailedResult {
  /** Position of the result. */
  readonly position: number
  readonly tool?: string
  /** First line of the error; if that is only an exit code, with the next line. */
  readonly text: string
}

/** A file that tools changed, with the positions of the calls. */
export interface ChangedFile {
  readonly path: string
  readonly edits: number
  readonly positions: readonly number[]
}

/** A tool with its calls. */
export interface ToolSteps {
  readonly tool: string
  readonly calls: number
  readonly positions: readonly number[]
}

/** A path, name or number that hidden messages contain, the summary does not, and the model used again later. */
export interface LostTerm {
  readonly term: string
  /** Positions of the hidden messages that contain it, and of the later replies that use it. */
  readonly said: readonly number[]
  readonly needed: readonly number[]
}

/** A file that a tool read before it was hidden, and again afterwards. */
export interface RereadFile {
  readonly path: string
  readonly read: readonly number[]
  readonly again: readonly number[]
}

/** Content that a marker hid, and names that its summary lost. */
export interface MarkerStory {
  readonly conversation: string
  readonly marker: number
  readonly kind: 'condensed' | 'truncated'
  /** Number of messages that it hides, at all levels of nesting. */
  readonly messages: number
  readonly asked: CutList<AskedPrompt>
  readonly failed: CutList<FailedResult>
  /** Most edited first. Edits that failed are not counted. */
  readonly changed: CutList<ChangedFile>
  /** `count` is the number of calls; `items` are the tools, most called first. */
  readonly steps: CutList<ToolSteps>
  /** In the fewest hidden messages first, paths before other names. */
  readonly lost: CutList<LostTerm>
  readonly reread: CutList<RereadFile>
  /**
   * Messages that were examined, of the hidden ones and of those that follow on the path. If `isAll` is false, the conversation is too
   * long, and the counts are of these messages only.
   */
  readonly examined: { readonly hidden: number; readonly later: number; readonly isAll: boolean }
}

/** A message with its position. */
export interface PlacedMessage extends Message {
  readonly position: number
}

interface StoryParts {
  /** Hidden messages, and those that follow the marker on the path, in order. */
  readonly hidden: readonly PlacedMessage[]
  readonly later: readonly PlacedMessage[]
  /** Text that remains visible to the model: the summary, messages that were kept, the system prompt and the tools. */
  readonly summary: string
  readonly kept: string
}

/** Maximum number of items in each list, and of positions in each item. */
const mostItems = 100
const mostPositions = 20
const mostLetters = 200

/** Tells what hidden messages contain, and which of it the model needed again. */
export const tellStory = async ({ hidden, later, ...visible }: StoryParts) => {
  const calls = toolCallsIn(hidden)
  const failures = failuresIn(hidden, calls)
  return {
    asked: counted(hidden.flatMap(promptIn)),
    failed: counted(failures.map(({ failed }) => failed)),
    changed: counted(
      filesIn([...calls.values()], changesOf, new Set(failures.map(({ call }) => call))).map(
        ({ path, positions }) => ({ path, edits: positions.length, positions: first(positions) }),
      ),
    ),
    steps: stepsIn([...calls.values()]),
    lost: counted(await lostIn({ hidden, later, ...visible })),
    reread: counted(rereadIn([...calls.values()], [...toolCallsIn(later).values()])),
  }
}

const counted = <T>(items: readonly T[]): CutList<T> => ({
  count: items.length,
  items: items.slice(0, mostItems),
})
const first = (positions: readonly number[]): readonly number[] => positions.slice(0, mostPositions)

const brief = (text: string): string => {
  // Only the beginning is searched, because a text may have megabytes of spaces.
  const words = text
    .slice(0, 20 * mostLetters)
    .replaceAll(/\s+/g, ' ')
    .trim()
  return words.length > mostLetters ? `${words.slice(0, mostLetters - 1)}…` : words
}

const promptIn = ({ role, content, position }: PlacedMessage): readonly AskedPrompt[] =>
  role !== 'user' || content.some((block) => isBlock(block, 'tool_result'))
    ? []
    : [{ position, text: brief(textsIn(content).join(' ')) }]

const textsIn = (content: readonly Block[]): readonly string[] =>
  content.flatMap((block) => (isBlock(block, 'text') ? [block.text] : []))

interface PlacedCall {
  readonly id: string
  readonly position: number
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
}

/** Returns the tool calls in messages by their ids. */
const toolCallsIn = (messages: readonly PlacedMessage[]): ReadonlyMap<string, PlacedCall> =>
  new Map(
    messages.flatMap(({ content, position }) =>
      content.flatMap((block, index): readonly (readonly [string, PlacedCall])[] =>
        isBlock(block, 'tool_use')
          ? [
              // Imported calls may lack an id of their own.
              [
                block.id || `${position} ${index}`,
                { id: block.id, position, tool: block.name, input: inputOf(block.input) },
              ],
            ]
          : [],
      ),
    ),
  )

const inputOf = (input: unknown): PlacedCall['input'] =>
  typeof input === 'object' && input !== null ? (input as PlacedCall['input']) : {}

interface Failure {
  /** Id of the call. */
  readonly call: string
  readonly failed: FailedResult
}

const failuresIn = (
  messages: readonly PlacedMessage[],
  calls: ReadonlyMap<string, PlacedCall>,
): readonly Failure[] =>
  messages.flatMap(({ content, position }) =>
    content.flatMap((block): readonly Failure[] => {
      if (!isBlock(block, 'tool_result') || block.is_error !== true) return []
      const call = block.tool_use_id
      const tool = calls.get(call)?.tool
      return [
        { call, failed: { position, ...(tool !== undefined && { tool }), text: firstLine(block.content) } },
      ]
    }),
  )

const firstLine = (content: unknown): string => {
  const text = Array.isArray(content) ? textsIn(content.filter(isWellShaped)).join('\n') : content
  // Tags like `<tool_use_error>` are the program's, not the tool's.
  const said = typeof text === 'string' ? text.slice(0, 20 * mostLetters).replaceAll(/<\/?[a-z_]+>/g, '') : ''
  const [line = '', next = ''] = said.trim().split('\n', 2)
  return brief(/^exit code \d+$/i.test(line) && next !== '' ? `${line}: ${next}` : line)
}

const reading = /^(?:read|view|open|cat)|read_?(?:text_?)?file|view_?file/i
const changing = /edit|write|create|replace|patch|insert|delete|rename/i
const pathFields = ['file_path', 'notebook_path', 'path', 'filePath', 'target_file', 'filename'] as const

const pathOf = ({ input }: PlacedCall): string | undefined =>
  pathFields.map((field) => input[field]).find((value) => typeof value === 'string' && value !== '') as
    | string
    | undefined

/** Returns the paths of the files that a call changes. */
const changesOf = (call: PlacedCall): readonly string[] => {
  const { tool, input } = call
  const patch = ['input', 'patch'].map((field) => input[field]).find((value) => typeof value === 'string')
  if (/patch/i.test(tool) && typeof patch === 'string')
    return [...patch.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.{1,400})$/gm)].map(
      ([, path = '']) => path,
    )
  const command = typeof input['command'] === 'string' ? input['command'] : ''
  const isChange = tool.startsWith('str_replace') ? command !== 'view' : changing.test(tool)
  const path = isChange ? pathOf(call) : undefined
  return path === undefined ? [] : [path]
}

const readsOf = (call: PlacedCall): readonly string[] => {
  const isRead = call.tool.startsWith('str_replace')
    ? call.input['command'] === 'view'
    : reading.test(call.tool)
  const path = isRead ? pathOf(call) : undefined
  return path === undefined ? [] : [path]
}

/** Returns the files of calls with the calls' positions, those of the most calls first. */
const filesIn = (
  calls: readonly PlacedCall[],
  pathsOf: (call: PlacedCall) => readonly string[],
  omitted: ReadonlySet<string> = new Set(),
): readonly { readonly path: string; readonly positions: readonly number[] }[] => {
  const files = new Map<string, number[]>()
  for (const call of calls)
    if (!omitted.has(call.id))
      for (const path of pathsOf(call)) files.set(path, [...(files.get(path) ?? []), call.position])
  return [...files]
    .map(([path, positions]) => ({ path, positions }))
    .toSorted((one, other) => other.positions.length - one.positions.length)
}

const stepsIn = (calls: readonly PlacedCall[]): CutList<ToolSteps> => {
  const tools = Map.groupBy(calls, ({ tool }) => tool)
  const items = [...tools]
    .map(([tool, its]) => ({
      tool,
      calls: its.length,
      positions: first(its.map(({ position }) => position)),
    }))
    .toSorted((one, other) => other.calls - one.calls || (one.tool < other.tool ? -1 : 1))
  return { count: calls.length, items: items.slice(0, mostItems) }
}

const rereadIn = (before: readonly PlacedCall[], after: readonly PlacedCall[]): readonly RereadFile[] => {
  const again = new Map(filesIn(after, readsOf).map(({ path, positions }) => [path, positions]))
  return filesIn(before, readsOf).flatMap(({ path, positions }) => {
    const later = again.get(path)
    return later ? [{ path, read: first(positions), again: first(later) }] : []
  })
}

/** Maximum number of characters of a message that are searched for names. */
const mostSearched = 256 * 1024

/** Finds the terms that the hidden messages contain, nothing visible does, and later replies use. */
const lostIn = async ({ hidden, later, summary, kept }: StoryParts): Promise<readonly LostTerm[]> => {
  const needed = new Map<string, number[]>()
  for (const message of later) {
    if (message.role !== 'assistant') continue
    for (const term of termsUsedIn([message])) addTo(needed, term, message.position)
    await breath()
  }
  const isVisible = (term: string): boolean =>
    kept.includes(term) ||
    summary.includes(term) ||
    (lastPartOf(term) !== undefined && (namesEndOf(term, summary, true) || namesEndOf(term, kept, false)))
  for (const term of needed.keys()) if (isVisible(term)) needed.delete(term)
  const said = new Map<string, number[]>()
  const ends = Map.groupBy(needed.keys(), (term) => lastPartOf(term) ?? term)
  for (const { content, position } of hidden) {
    const found = new Set<string>()
    for (const term of termsIn(wordsOf(content).slice(0, mostSearched)))
      for (const known of ends.get(lastPartOf(term) ?? term) ?? []) if (isEndOf(known, term)) found.add(known)
    for (const term of found) addTo(said, term, position)
    await breath()
  }
  return joined(said, needed)
    .toSorted((one, other) => one.said.length - other.said.length || byDistinctness(one.term, other.term))
    .map((one) => ({ ...one, said: first(one.said), needed: first(one.needed) }))
}

const isEndOf = (term: string, path: string): boolean => term === path || path.endsWith(`/${term}`)

const addTo = (positions: Map<string, number[]>, term: string, position: number): void => {
  const known = positions.get(term)
  if (known) known.push(position)
  else positions.set(term, [position])
}

/** Maximum number of terms that are compared with each other. */
const mostCompared = 2_000

/** Joins each path with the longest other one that it is the end of, and omits other terms that are part of a longer one. */
const joined = (
  said: ReadonlyMap<string, readonly number[]>,
  needed: ReadonlyMap<string, readonly number[]>,
): readonly LostTerm[] => {
  const longestFirst = [...said.keys()].toSorted((one, other) => other.length - one.length)
  const kept: { readonly term: string; said: readonly number[]; needed: readonly number[] }[] = []
  for (const term of longestFirst.slice(0, mostCompared)) {
    const own = { term, said: said.get(term) ?? [], needed: needed.get(term) ?? [] }
    const whole = kept.find((one) => one.term.includes(term))
    if (!whole) kept.push(own)
    else if (isEndOf(term, whole.term)) {
      whole.said = united(whole.said, own.said)
      whole.needed = united(whole.needed, own.needed)
    }
  }
  return kept
}

const united = (some: readonly number[], others: readonly number[]): readonly number[] =>
  [...new Set([...some, ...others])].toSorted((one, other) => one - other)
