import { hash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Conversation } from '../api/promises.ts'
import { type DecodeFailed, invalidInput } from '../events/errors.ts'
import { notesStreamOf } from '../events/ids.ts'
import { type Fields, isFields } from '../events/json.ts'
import type { Note } from '../projections/notes.ts'
import { toError } from '../result/typed-error.ts'
import { isLangChainMessage } from './langchain-messages.ts'
import {
  historyText,
  type MessageIds,
  type MessageNode,
  type MessageTree,
  messageTree,
  textWithId,
} from './langgraph-messages.ts'

/** The record of a checkpoint. `values` are packed: see `pack`. */
export interface CheckpointRecord {
  readonly id: string
  readonly thread: string
  readonly namespace: string
  readonly parent: string | undefined
  /** The checkpoint without its id and its values. */
  readonly checkpoint: Fields
  readonly metadata: unknown
  readonly values: Fields
  readonly ids: MessageIds
  /** Position of the last message that belongs to the checkpoint, pending ones included. */
  readonly last: number
}

/** The record of a task's writes: index, channel and packed value of each. */
export interface WritesRecord {
  /** Id of the checkpoint. */
  readonly of: string
  readonly task: string
  readonly path: string
  readonly writes: readonly (readonly [index: number, channel: string, value: unknown])[]
  readonly last: number
}

/** A record in memory. */
interface HeldRecord {
  /** Revision of its note; `Infinity` until it is noted. */
  revision: number
  /** Its number among all records that are noted; undefined until it is. */
  place?: number
  readonly json: string
}

/** The checkpoints of a thread in one namespace: a conversation and its notes. */
export interface GraphThread {
  readonly messages: MessageTree
  /** Reads what was recorded since. */
  readonly update: () => Promise<void>
  /** Ids of the checkpoints, newest first. */
  readonly ids: () => readonly string[]
  readonly newest: () => string | undefined
  readonly checkpoint: (id: string) => CheckpointRecord | undefined
  /** Writes of a checkpoint's tasks, in the order in which they were noted. */
  readonly writes: (id: string) => readonly WritesRecord[]
  /** The last message that belongs to a checkpoint, pending ones included; undefined if the checkpoint is not known. */
  readonly lastOf: (id: string) => MessageNode | undefined
  /** Reports whether a checkpoint has a value of the channel in this version. */
  readonly hasVersion: (channel: string, version: unknown) => boolean
  /** Adds a record to those that `flush` notes. */
  readonly record: (record: CheckpointRecord | WritesRecord) => void
  /**
   * Notes the records that were added, together. Returns false if another process has noted or erased something since they were made: then
   * this object must no longer be used, and they must be made and noted again.
   */
  readonly flush: () => Promise<boolean>
  /** Packs a value: a message that the conversation has becomes a reference, and so does a large value, which is noted once. */
  readonly pack: (value: unknown) => Promise<unknown>
  /** Returns the JSON of a packed value. */
  readonly textOf: (packed: unknown) => Promise<string>
  /**
   * Makes every reader forget all checkpoints but one, and erases their notes; without one to keep, erases the messages, too. Rejects
   * with `CannotErase` where the store cannot erase: then they are forgotten only. Returns false as `flush` does.
   */
  readonly forget: (kept: string | undefined) => Promise<boolean>
}

/** Marks objects of packed values, as `lc: 1` and `lc: 2` mark the objects of LangGraph's serializer. */
const mark = 3
/** Length of JSON from which a value is noted by itself, in characters. */
const large = 256
/** Number of notes after which a note is compressed without a dictionary, and becomes the next one. */
const mostWithBase = 64

/** Maximum number of records in a note. */
export const mostInNote = 100

export const graphThread = (chat: Conversation): GraphThread => {
  const messages = messageTree(chat)
  const checkpoints = new Map<string, HeldRecord>()
  const writes = new Map<string, HeldRecord[]>()
  const values = new Map<string, number>()
  const versions = new Set<string>()
  const lasts = new Map<string, number>()
  /** Ids of checkpoints by the places of their records, which stand for them in later records because they are shorter. */
  const idAt = new Map<number, string>()
  /** Texts that are dictionaries of the compression, by the revisions of their notes. */
  const bases = new Map<number, string>()
  /** Revisions of the notes of this seam. */
  const own = new Set<number>()
  let newestBase: number | undefined
  let waiting: HeldRecord[] = []
  /** True if another process has noted something since `waiting` or a change in progress were made. */
  let isOutdated = false
  let next = 0

  const parsed = (json: string): CheckpointRecord | WritesRecord => {
    const noted = JSON.parse(json) as { readonly parent?: unknown; readonly of?: unknown }
    const named = (id: unknown) => (typeof id === 'number' ? idAt.get(id) : id)
    return { ...noted, parent: named(noted.parent), of: named(noted.of) } as unknown as
      | CheckpointRecord
      | WritesRecord
  }
  const learnVersions = ({ checkpoint, values: known }: CheckpointRecord): void => {
    const found = checkpoint['channel_versions'] as Fields
    for (const channel of Object.keys(known)) versions.add(JSON.stringify([channel, found[channel]]))
  }
  const learn = (held: HeldRecord): void => {
    const record = parsed(held.json)
    if ('task' in record) {
      lasts.set(record.of, record.last)
      const others = writes.get(record.of)
      if (others) others.push(held)
      else writes.set(record.of, [held])
      return
    }
    lasts.set(record.id, record.last)
    checkpoints.set(record.id, held)
    learnVersions(record)
    for (const [position, named] of Object.entries(record.ids)) {
      const node = messages.nodeAt(Number(position))
      if (!node || node.id !== undefined) continue
      node.id = named
      delete node.text
    }
  }
  const noted = (held: HeldRecord, revision: number, index: number): void => {
    held.revision = revision
    held.place = revision * mostInNote + index
    const record = parsed(held.json)
    if (!('task' in record)) idAt.set(held.place, record.id)
  }
  const forget = (before: number): void => {
    for (const [id, { revision }] of checkpoints) if (revision < before) checkpoints.delete(id)
    for (const [id, all] of writes) {
      const kept = all.filter(({ revision }) => revision >= before)
      if (kept.length > 0) writes.set(id, kept)
      else writes.delete(id)
    }
    for (const [sha256, revision] of values) if (revision < before) values.delete(sha256)
    for (const revision of bases.keys()) if (revision < before) bases.delete(revision)
    if (newestBase !== undefined && newestBase < before) newestBase = undefined
    for (const id of lasts.keys()) if (!checkpoints.has(id) && !writes.has(id)) lasts.delete(id)
    versions.clear()
    for (const { json } of checkpoints.values()) learnVersions(parsed(json) as CheckpointRecord)
  }

  const see = ({ kind, data, revision }: Note): void => {
    next = revision + 1
    // Notes of others, and erased ones.
    if (!kind.startsWith('langgraph/') || !isFields(data)) return
    own.add(revision)
    const { state, base, sha256, before } = data as unknown as NoteData
    if (kind === 'langgraph/value') values.set(sha256, revision)
    if (kind === 'langgraph/forgotten') forget(before)
    if (kind !== 'langgraph/checkpoints') return
    const dictionary = base === undefined ? '' : bases.get(base)
    // Its dictionary was erased, so it can no longer be read.
    if (dictionary === undefined) return
    const json = readable(revision, state, dictionary)
    if (base === undefined) bases.set((newestBase = revision), json)
    for (const [index, record] of (JSON.parse(json) as readonly unknown[]).entries()) {
      const held = { revision, json: JSON.stringify(record) }
      noted(held, revision, index)
      learn(held)
    }
  }
  const readable = (revision: number, state: string, dictionary = ''): string => {
    try {
      return inflated(state, dictionary)
    } catch (error) {
      const stream = notesStreamOf(chat.id)
      const message = `event ${revision} of ${stream} cannot be read as a checkpoint: ${String(error)}`
      throw toError({ _tag: 'DecodeFailed', message, stream, revision } satisfies DecodeFailed)
    }
  }
  const updateNotes = async (): Promise<void> => {
    if (!messages.exists()) return
    const notes = await chat.notes({ from: next })
    if (notes.length > 0 && waiting.length > 0) isOutdated = true
    for (const note of notes) see(note)
  }
  const note = async (kind: string, data: Partial<NoteData>): Promise<void> => {
    const written = await chat.note({ kind: `langgraph/${kind}`, data })
    if (written.revision === next) return see(written)
    isOutdated = true
    await updateNotes()
  }
  const flush = async (): Promise<boolean> => {
    if (isOutdated || messages.isErased()) return false
    const records = waiting
    waiting = []
    if (records.length === 0) return true
    const json = `[${records.map((record) => record.json).join()}]`
    const base = newestBase !== undefined && next - newestBase < mostWithBase ? newestBase : undefined
    const state = deflated(json, base === undefined ? '' : bases.get(base))
    const data = { ...(base !== undefined && { base }), state }
    const { revision } = await chat.note({ kind: 'langgraph/checkpoints', data })
    if (revision !== next) return false
    next = revision + 1
    own.add(revision)
    if (base === undefined) bases.set((newestBase = revision), json)
    for (const [index, held] of records.entries()) noted(held, revision, index)
    return true
  }
  const record = (given: CheckpointRecord | WritesRecord): void => {
    const short = (id: string | undefined) => checkpoints.get(id ?? '')?.place ?? id
    const json = JSON.stringify(
      'task' in given ? { ...given, of: short(given.of) } : { ...given, parent: short(given.parent) },
    )
    const held = { revision: Infinity, json }
    learn(held)
    waiting.push(held)
  }

  const withRefs = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(withRefs)
    if (!isFields(value)) return value
    const found = isLangChainMessage(value) ? messages.find(value) : undefined
    if (found) return { lc: mark, ...found }
    const fields = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withRefs(inner)]))
    return value['lc'] === mark ? { lc: mark, fields } : fields
  }
  const withoutRefs = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(withoutRefs).join()}]`
    if (!isFields(value)) return JSON.stringify(value)
    const { lc, at, id, list, fields = value } = value as unknown as Ref
    const node = lc === mark ? messages.nodeAt(at ?? list ?? Infinity) : undefined
    if (node && list !== undefined) return historyText(node)
    if (node) return textWithId(node, id)
    return `{${Object.entries(fields)
      .map(([key, inner]) => `${JSON.stringify(key)}:${withoutRefs(inner)}`)
      .join()}}`
  }

  const checkpointOf = (id: string): CheckpointRecord | undefined => {
    const found = checkpoints.get(id)
    return found && (parsed(found.json) as CheckpointRecord)
  }
  const writesOf = (id: string): readonly WritesRecord[] =>
    (writes.get(id) ?? []).map(({ json }) => parsed(json) as WritesRecord)
  /** Returns a large value, compressed. */
  const stateOf = async (sha256: string): Promise<string> => {
    const revision = values.get(sha256)
    const [found] = revision === undefined ? [] : await chat.notes({ from: revision, limit: 1 })
    const { state } = (found?.data ?? {}) as Partial<NoteData>
    if (state === undefined)
      throw toError(
        invalidInput('checkpoint_id', 'a value of this checkpoint was erased: choose a later checkpoint'),
      )
    return state
  }
  /** Returns the ids of all messages of a checkpoint that were appended without one. */
  const idsOf = ({ messages: history }: Fields): MessageIds => {
    const ids: MessageIds = {}
    const list = isFields(history) ? history['list'] : undefined
    for (let node = messages.nodeAt(list as number); node; node = node.parent)
      if (node.id !== undefined) ids[node.position] = node.id
    return ids
  }

  return {
    messages,
    update: async () => {
      await messages.update()
      await updateNotes()
    },
    ids: () => [...checkpoints.keys()].toSorted().toReversed(),
    newest: () => {
      let newest: string | undefined
      for (const id of checkpoints.keys()) if (newest === undefined || id > newest) newest = id
      return newest
    },
    checkpoint: checkpointOf,
    writes: writesOf,
    lastOf: (id) => messages.nodeAt(lasts.get(id) ?? Infinity),
    hasVersion: (channel, version) => versions.has(JSON.stringify([channel, version])),
    record,
    flush,
    pack: async (value) => {
      const packed = withRefs(value)
      const json = JSON.stringify(packed)
      if (json.length < large) return packed
      const sha256 = hash('sha256', json)
      if (!values.has(sha256)) await note('value', { sha256, state: deflated(json) })
      return { lc: mark, sha256 }
    },
    textOf: async (packed) =>
      withoutRefs(
        isLarge(packed)
          ? JSON.parse(readable(values.get(packed.sha256) ?? 0, await stateOf(packed.sha256)))
          : packed,
      ),
    forget: async (kept) => {
      const before = next
      const notes = [...own]
      const checkpoint = kept === undefined ? undefined : checkpointOf(kept)
      if (kept === undefined || !checkpoint) {
        if (!messages.exists()) return true
        await note('forgotten', { before: next })
        await chat.erase({ reason: 'the thread was deleted' })
        return true
      }
      // Noted again first, so that nothing is lost if the process ends here.
      const tasks = writesOf(kept)
      const used = [
        ...Object.values(checkpoint.values),
        ...tasks.flatMap(({ writes: all }) => all.map(([, , value]) => value)),
      ]
      const texts: [sha256: string, state: string][] = []
      for (const value of used) if (isLarge(value)) texts.push([value.sha256, await stateOf(value.sha256)])
      values.clear()
      newestBase = undefined
      for (const [sha256, state] of texts) if (!values.has(sha256)) await note('value', { sha256, state })
      checkpoints.delete(kept)
      if (checkpoint.parent !== undefined) checkpoints.delete(checkpoint.parent)
      writes.delete(kept)
      record({ ...checkpoint, ids: idsOf(checkpoint.values) })
      for (const task of tasks) record(task)
      if (!(await flush())) return false
      await note('forgotten', { before })
      await chat.erase({ positions: [], notes, reason: 'old checkpoints were pruned' })
      return true
    },
  }
}

interface NoteData {
  readonly state: string
  readonly base: number | undefined
  readonly sha256: string
  readonly before: number
}

const deflated = (json: string, dictionary = ''): string =>
  deflateRawSync(json, { level: 9, ...withDictionary(dictionary) }).toString('base64')

const inflated = (state: string, dictionary = ''): string =>
  inflateRawSync(Buffer.from(state, 'base64'), withDictionary(dictionary)).toString()

const withDictionary = (text: string) => (text === '' ? {} : { dictionary: Buffer.from(text) })

const isLarge = (packed: unknown): packed is { readonly sha256: string } =>
  isFields(packed) && packed['lc'] === mark && 'sha256' in packed

/** A reference in a packed value: to a message, to a history, or fields that look like a reference. */
interface Ref {
  readonly lc: number
  readonly at: number | undefined
  readonly id: string | undefined
  readonly list: number | undefined
  readonly fields: Fields | undefined
}
