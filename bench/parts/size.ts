import { statSync } from 'node:fs'
import { join } from 'node:path'
import { growing } from '../growing.ts'
import { messageAt } from '../messages.ts'
import { peer as palimpsest } from '../peers/palimpsest.ts'
import { peer as rawTable } from '../peers/raw.ts'
import { atMost, count, type PartResult } from '../report.ts'
import type { Setting } from '../setting.ts'

/** What a message takes on the disk, metadata, hash chain and indexes included. */
export const size = async ({ folder, isQuick }: Setting): Promise<PartResult> => {
  const messages = isQuick ? 1_000 : 10_000
  for (const peer of [palimpsest(), rawTable()]) {
    const conversation = await growing(peer, folder)
    await conversation.growTo(messages)
    // The last connection to close moves the write-ahead log into the file.
    await conversation.close()
  }
  const bytesIn = (file: string): number => statSync(join(folder, file)).size / messages
  const json = Buffer.byteLength(JSON.stringify(messageAt(0)))
  const [own, raw] = [bytesIn('palimpsest.db'), bytesIn('raw.db')]
  return {
    title: 'Size: bytes stored a message',
    figures: [
      { what: 'JSON of a message, {role, content} of 1,024 characters', figure: count(json) },
      { what: 'palimpsest', figure: count(own) },
      atMost('palimpsest beside the JSON', own / json, 1.4),
      { what: 'raw node:sqlite', figure: count(raw) },
      { what: 'raw node:sqlite beside the JSON', figure: `${(raw / json).toFixed(2)} ×` },
    ],
    notes: [`File size after a checkpoint, of ${count(messages)} messages written one at a time.`],
  }
}
