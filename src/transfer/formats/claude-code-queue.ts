import type { NewMessage } from '../../commands/command.ts'
import { isFields } from '../../events/json.ts'
import { digest, type FileEntry, messageProblem, type ImportNotes, stringOf, timeOf } from './source.ts'

/** A prompt typed while the agent worked, or a report from a background task. */
export interface QueuedPrompt {
  /** Id of the prompt; the same in every later, longer version of the file. */
  readonly ref: string
  readonly kind: 'queued prompt' | 'queued notice' | 'task record'
  readonly message: NewMessage
  readonly text: string
  readonly time: string | undefined
}

/** A queued prompt that was sent in the middle of a turn. */
export interface SentPrompt extends QueuedPrompt {
  /** Time when the prompt left the queue, ISO 8601. The next request after this time contains the prompt. */
  readonly at: string | undefined
  /** True if the file says that the prompt was sent. Otherwise, that is inferred from the time when the prompt left the queue. */
  readonly isCertain: boolean
}

/** The queue of prompts waiting to be sent. */
export interface Queue {
  /** Applies a `queue-operation` entry. */
  readonly operate: (entry: FileEntry) => void
  /** Removes a prompt that was sent as a separate entry (a message or an attachment), so that it is not added twice. */
  readonly said: (text: string, as: 'user' | 'attachment') => void
  /**
   * Removes and returns the prompts that were sent in the middle of a turn before this time; undefined means before the end of the
   * file.
   */
  readonly due: (time: string | undefined) => readonly SentPrompt[]
  /** Reports the prompts still in the queue as withdrawn, and returns the refs of all prompts that were ever queued. */
  readonly finish: () => readonly string[]
  /** Reports whether `due` has nothing to return. */
  readonly isSettled: () => boolean
}

const ownEntry = 'a prompt typed ahead; it has its own entry where it was sent'
const takenBack = 'withdrawn before it was sent'
const started = 'a record that a background task began; the model does not see it'
/** Order in which kinds of prompts leave the queue if the file does not say which prompt did. */
const kinds: readonly QueuedPrompt['kind'][] = ['queued prompt', 'queued notice', 'task record']

/**
 * Returns a model of Claude Code's queue. `enqueue` adds a text. `remove` sends the first prompt in the middle of a turn (the first
 * notice, if no prompt is waiting) or drops the record of a task. `dequeue` sends a prompt after the turn, as a separate entry.
 * `popAll` returns all prompts to the user for editing.
 */
export const queueOf = (notes: ImportNotes): Queue => {
  let waiting: readonly QueuedPrompt[] = []
  let sent: readonly SentPrompt[] = []
  // Texts that have left the queue and have no entry yet; texts that have an attachment and have not left the queue yet.
  let expected: readonly string[] = []
  let attached: readonly string[] = []
  const refs = new Map<string, number>()
  const everQueued: string[] = []

  const enqueue = (entry: FileEntry): void => {
    const next = queuedIn(entry, refs)
    if (typeof next !== 'string') {
      waiting = [...waiting, next]
      everQueued.push(next.ref)
    } else if (entry.fields['content'] === undefined) notes.leftOut('queue-operation', next)
    else notes.bad(entry.line, next)
  }
  const take = (text: string | undefined): QueuedPrompt | undefined => {
    const named = waiting.find((queued) => queued.text === text)
    const [first] = kinds.flatMap((kind) => waiting.find((queued) => queued.kind === kind) ?? [])
    const taken = named ?? first
    waiting = waiting.filter((queued) => queued !== taken)
    return taken
  }
  const remove = ({ content, reason, timestamp }: FileEntry['fields']): void => {
    const text = content === undefined ? attached[0] : textOf(content)
    if (text !== undefined && attached.includes(text)) {
      attached = without(attached, text)
      return
    }
    const taken = take(text)
    if (!taken) return
    if (taken.kind === 'task record') return notes.leftOut(taken.kind, started)
    const isCertain = reason === 'absorbed_mid_turn'
    if (stringOf(reason) !== undefined && !isCertain) return notes.leftOut(taken.kind, takenBack)
    if (content === undefined && waiting.some(({ kind }) => kind !== 'task record'))
      notes.note(
        'the file does not say which of several queued prompts was sent: taken in order, prompts before notices',
      )
    sent = [...sent, { ...taken, at: timeOf(timestamp), isCertain }]
  }
  const operate = (entry: FileEntry): void => {
    const { operation } = entry.fields
    if (operation === 'enqueue') return enqueue(entry)
    notes.leftOut('queue-operation', 'a queued prompt was sent or withdrawn')
    if (operation === 'remove') remove(entry.fields)
    else if (operation === 'dequeue') dequeue()
    else if (operation === 'popAll') giveBack()
  }
  const dequeue = (): void => {
    const taken = take(undefined)
    if (!taken) return
    notes.leftOut('queue-operation', ownEntry)
    expected = [...expected, taken.text]
  }
  const said: Queue['said'] = (text, as) => {
    if (expected.includes(text)) {
      expected = without(expected, text)
      return
    }
    const found = [...sent, ...waiting].find((queued) => queued.text === text)
    if (!found) return
    notes.leftOut('queue-operation', ownEntry)
    if (as === 'attachment' && waiting.includes(found)) attached = [...attached, text]
    sent = sent.filter((queued) => queued !== found)
    waiting = waiting.filter((queued) => queued !== found)
  }
  const due = (time: string | undefined): readonly SentPrompt[] => {
    const isDue = ({ at }: SentPrompt): boolean => at === undefined || time === undefined || at < time
    const taken = sent.filter(isDue)
    if (taken.length > 0) sent = sent.filter((each) => !isDue(each))
    return taken
  }
  const finish = (): readonly string[] => {
    for (const { kind } of waiting) notes.leftOut(kind, kind === 'task record' ? started : takenBack)
    return [...everQueued]
  }
  const giveBack = (): void => {
    finish()
    waiting = []
  }
  return { operate, said, due, finish, isSettled: () => sent.length === 0 }
}

/** The queue of a subagent, which receives no typed prompts. */
export const noQueue: Pick<Queue, 'due'> = { due: () => [] }

const queuedIn = ({ fields }: FileEntry, refs: Map<string, number>): QueuedPrompt | string => {
  const { content, timestamp } = fields
  if (content === undefined) return 'its text is not recorded'
  const message = { role: 'user', content: content as NewMessage['content'] } as const
  const problem = messageProblem(message)
  if (problem !== undefined) return problem
  const text = textOf(content)
  const base = `queued-${digest([timestamp, content])}`
  const count = (refs.get(base) ?? 0) + 1
  refs.set(base, count)
  return {
    ref: count === 1 ? base : `${base}-${count}`,
    kind: kindOf(text),
    message,
    text,
    time: timeOf(timestamp),
  }
}

/**
 * Returns the kind of a queued text. Background tasks and agents report with a notification; some versions also queue a JSON record
 * when a task begins.
 */
export const kindOf = (text: string): QueuedPrompt['kind'] =>
  /^<[a-z-]+-notification>/.test(text)
    ? 'queued notice'
    : /^\{"task_id":".*"task_type":"/s.test(text)
      ? 'task record'
      : 'queued prompt'

/** Returns the text of a message's content, trimmed. */
export const textOf = (content: unknown): string => {
  if (typeof content === 'string') return content.trim()
  const blocks: readonly unknown[] = Array.isArray(content) ? content : []
  return blocks
    .flatMap((block) => (isFields(block) && typeof block['text'] === 'string' ? [block['text']] : []))
    .join('\n')
    .trim()
}

const without = (list: readonly string[], text: string): readonly string[] =>
  list.toSpliced(list.indexOf(text), 1)
