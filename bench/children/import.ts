// Imports the session file named into the store in the second file; or, without one, reads the file and parses its lines. Prints the
// seconds of processor time that this took, and the peak of the resident memory in MiB.
import { createReadStream } from 'node:fs'
import { withBoundedHeap } from '../../src/cli/bounded-heap.ts'
import { splitLines } from '../../src/transfer/formats/split-lines.ts'
import { createImportNotes } from '../../src/transfer/formats/source.ts'
import { openStore } from '../../src/index.ts'

const [, , file = '', store] = process.argv
const bytes = (): AsyncIterable<Uint8Array> => createReadStream(file, { highWaterMark: 256 * 1024 })

const parse = async (): Promise<number> => {
  let lines = 0
  const split = splitLines(
    { read: ({ text }) => void (JSON.parse(text) as unknown, lines++) },
    createImportNotes(),
  )
  for await (const piece of bytes()) split.push(piece)
  split.finish()
  return lines
}

const imported = async (): Promise<number> => {
  const opened = await openStore(`sqlite:${store}`)
  const { conversations } = await withBoundedHeap(() => opened.importSession({ file, bytes }))
  await opened.close()
  return conversations.reduce((sum, { added }) => sum + added, 0)
}

const before = process.cpuUsage()
const count = await (store === undefined ? parse() : imported())
const { user, system } = process.cpuUsage(before)
const peak = process.resourceUsage().maxRSS / 1_024
process.stdout.write(JSON.stringify({ count, seconds: (user + system) / 1e6, peak }))
