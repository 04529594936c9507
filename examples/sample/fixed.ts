import { hashOf } from '../../src/events/codec.ts'
import { eventId, notesStreamOf, streamOf } from '../../src/events/ids.ts'
import { palimpsestLine } from '../../src/transfer/formats/write-palimpsest.ts'
import type { PlacedEvent } from '../../src/conversation/reading/stored-events.ts'
import type { Store } from '../../src/index.ts'

/** When it begins, and how long after an event the next one comes, in milliseconds. */
const beginning = Date.parse('2026-06-11T13:02:07.000Z')
const pause = 7_350

/** The lines of conversations, parents before their forks, with times, ids and hashes that depend only on what happened. */
export const fixed = async (store: Store, ids: readonly string[]): Promise<readonly string[]> => {
  const rewrite = rewriting()
  const lines = new Map<string, string>()
  for (const id of ids)
    for await (const event of store.conversation(id).stored()) {
      // A fork begins with the events of its parent.
      const place = `${event.conversation} ${streamIn(event)} ${event.revision}`
      if (!lines.has(place)) lines.set(place, `${palimpsestLine(rewrite(event))}\n`)
    }
  return [...lines.values()]
}

const streamIn = ({ type, conversation }: PlacedEvent): string =>
  type === 'Noted' || type === 'Linked' ? notesStreamOf(conversation) : streamOf(conversation)

interface Metadata {
  /** Random, so the lines are written without it. */
  readonly salt?: string
  readonly time: string
  readonly commandId: string
  readonly prev?: string | null
}
interface Data {
  readonly origin?: { readonly starts?: string }
  readonly from?: { readonly hash?: string }
}

/** Rewrites events in the order in which they come. */
const rewriting = (): ((event: PlacedEvent) => PlacedEvent) => {
  /** New hashes by old ones; commands in the order in which they come, with how many events they wrote. */
  const hashes = new Map<string, string>()
  const commands = new Map<string, { readonly name: string; readonly time: string; events: number }>()
  return (event) => {
    const { salt: _, ...metadata } = JSON.parse(event.metadata) as Metadata
    const known = commands.get(metadata.commandId)
    const command = known ?? {
      name: `sample-${commands.size}`,
      time: new Date(beginning + commands.size * pause).toISOString(),
      events: 0,
    }
    commands.set(metadata.commandId, command)
    const { prev } = metadata
    const stored = {
      id: eventId(streamIn(event), command.name, command.events++),
      type: event.type,
      data: dataOf(event, hashes),
      metadata: JSON.stringify({
        ...metadata,
        time: command.time,
        commandId: command.name,
        ...(typeof prev === 'string' && { prev: hashes.get(prev) }),
      }),
    }
    hashes.set(hashOf(event), hashOf(stored))
    return { ...event, ...stored }
  }
}

/** A fork names the hash of where it begins; and nothing is known here of the stream in which a turn notes what it starts. */
const dataOf = ({ type, data }: PlacedEvent, hashes: ReadonlyMap<string, string>): string => {
  const { origin, from, ...rest } = JSON.parse(data) as Data
  const { starts: _, ...own } = origin ?? {}
  if (type === 'Forked')
    return JSON.stringify({ ...rest, from: { ...from, hash: hashes.get(from?.hash ?? '') } })
  return origin ? JSON.stringify({ ...rest, origin: own }) : data
}
