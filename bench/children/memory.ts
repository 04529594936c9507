// Reads the conversation `bench` of the store in the file named, whole: `export` makes JSON lines of its events, `verify` checks them.
// Prints what it found and the peak of the resident memory in MiB.
import { openStore } from '../../src/index.ts'

const [, , file, what] = process.argv
const store = await openStore(`sqlite:${file}`)
const chat = store.conversation('bench')

const exported = async (): Promise<object> => {
  let bytes = 0
  for await (const event of chat.events()) bytes += JSON.stringify(event).length
  return { bytes }
}

const found = what === 'verify' ? await chat.verify() : await exported()
await store.close()
process.stdout.write(JSON.stringify({ ...found, peak: process.resourceUsage().maxRSS / 1_024 }))
