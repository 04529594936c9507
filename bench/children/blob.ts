// Puts `bytes` bytes of base64 into the store named, as a blob (`put`) or as a message of a conversation (`in`), or reads them back (`get`,
// `out`). Prints the seconds that this took, and by how many MiB the peak of the resident memory is above what was in use before.
import { openStore } from '../../src/index.ts'
import { toPromise } from '../../src/api/promises.ts'
import { contentOf, readContent } from '../../src/store/blobs/content.ts'
import { openEvents } from '../../src/api/open.ts'

const [, , url = '', id = '', what, bytes] = process.argv
const textOf = (size: number): string => Buffer.alloc(size, 'QUJD').toString('latin1')
const imageOf = (data: string) =>
  ({
    role: 'user',
    content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }],
  }) as const

const events = await toPromise(openEvents(url))
const store = await openStore(url)
const chat = store.conversation(id)
const isMessage = what === 'in' || what === 'out'
// What is done for the first time takes room of its own.
const warm = store.conversation(`${id}-warm-${what}`)
await warm.append(imageOf(textOf(100_000)))
await warm.effective()
if (what === 'in') await chat.append({ role: 'user', content: 'Look.' })
const text = what === 'in' || what === 'put' ? textOf(Number(bytes)) : ''

const work: Readonly<Record<string, () => Promise<unknown>>> = {
  in: () => chat.append(imageOf(text)),
  out: () => chat.effective(),
  put: async () => {
    const { sha256, chunks } = contentOf(text)
    await toPromise(events.blobs.put(sha256, chunks))
    return sha256
  },
  get: async () => {
    // The only blob of this size.
    for await (const { sha256, bytes: size } of events.blobs.list())
      if (size === Number(bytes)) return readContent(events.blobs.get(sha256), false)
    return undefined
  },
}

const before = process.memoryUsage.rss() / 1_024 / 1_024
const started = performance.now()
const found = await work[what ?? '']?.()
const seconds = (performance.now() - started) / 1_000
const peak = process.resourceUsage().maxRSS / 1_024 - before

if (what === 'in') await chat.append({ role: 'assistant', content: 'I see.' })
const isWhole =
  isMessage ||
  what === 'put' ||
  (found as { readonly sha256: string }).sha256 === contentOf(textOf(Number(bytes))).sha256
if (!isWhole || (what === 'out' && !JSON.stringify(found).includes(textOf(Number(bytes)))))
  throw new Error('it is not what was put in')
await store.close()
await toPromise(events.close())
process.stdout.write(JSON.stringify({ seconds, peak }))
