import { appendFileSync, existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from 'palimpsest'
import { storeContract } from 'palimpsest/testing'
import { describe, expect, test } from 'vitest'
import { openJsonl } from '../../examples/store/jsonl.ts'
import { completeStore } from '../../src/store/complete-store.ts'
import { left, right } from '../support/either.ts'
import { temporaryFolder } from '../support/stores.ts'

const hello = { role: 'user', content: 'Hello.' } as const
const newUrl = (): string => `jsonl:${join(temporaryFolder(), 'store.jsonl')}`

describe('the store of docs/a-store-of-your-own.md', () => {
  test.each(storeContract)('$title', async ({ run }) => {
    const store = right(await openJsonl(newUrl(), { create: true })())
    await expect(run(store)).resolves.toBeUndefined()
    await store.close()()
  })

  test('is opened by its URL, and has all again when it is opened again', async () => {
    const url = newUrl()
    const first = await openStore(url, { largeContent: 1_024 })
    const large = 'x'.repeat(2_000)
    await first.conversation('a').append([hello, { role: 'assistant', content: large }])
    await first.conversation('b').append(hello)
    const { checkpoint } = await firstOf(first.readAll())
    await first.close()

    const again = await openStore(url, { create: false })
    const chat = again.conversation('a')
    expect((await chat.render()).messages[1]?.content).toEqual([{ type: 'text', text: large }])
    expect(await chat.verify()).toEqual({ conversation: 'a', events: 2 })
    // Who followed the store goes on where they were.
    expect((await firstOf(again.readAll({ after: checkpoint }))).event.position).toBe(1)
    expect((await again.gc({ olderThan: new Date() })).blobs).toBe(1)
    await again.close()
  })

  test('keeps no blob that was removed', async () => {
    const url = newUrl()
    const open = async (create: boolean) => completeStore(right(await openJsonl(url, { create })()))
    const store = await open(true)
    await store.blobs.put('abc', [Buffer.from('abc')])()
    await store.blobs.remove('abc', new Date(Date.now() + 60_000))()
    await store.close()()
    const again = await open(false)
    for await (const blob of again.blobs.list()) expect.fail(blob.sha256)
    await again.close()()
  })

  test('drops a line that broke off, and goes on behind the last whole one', async () => {
    const url = newUrl()
    const path = url.slice('jsonl:'.length)
    const store = await openStore(url)
    await store.conversation('a').append(hello)
    await store.close()
    appendFileSync(path, '{"append":{"stream":"conversation-a","eve')
    const again = await openStore(url)
    await again.conversation('a').append(hello)
    await again.close()
    const last = await openStore(url)
    expect(await last.conversation('a').verify()).toEqual({ conversation: 'a', events: 2 })
    await last.close()
  })

  test('answers with typed errors: what is not there, what cannot be one', async () => {
    const url = newUrl()
    expect(left(await openJsonl(url, { create: false })())).toMatchObject({
      _tag: 'StoreNotFound',
      store: url,
    })
    expect(existsSync(url.slice('jsonl:'.length))).toBe(false)
    const folder = `jsonl:${temporaryFolder()}`
    expect(left(await openJsonl(folder, { create: true })())).toMatchObject({ _tag: 'StoreUnavailable' })
    const full = right(await openJsonl(url, { create: true })())
    expect(full.url).toBe(url)
    await full.close()()
  })

  test.skipIf(!existsSync('/proc/self/fd'))('keeps no file open that it could not read', async () => {
    const url = newUrl()
    const path = url.slice('jsonl:'.length)
    writeFileSync(path, 'no JSON\n')
    expect(left(await openJsonl(url, { create: true })())).toMatchObject({ _tag: 'StoreUnavailable' })
    const open = readdirSync('/proc/self/fd').filter((fd) => {
      const link = `/proc/self/fd/${fd}`
      return existsSync(link) && readlinkSync(link) === path
    })
    expect(open).toEqual([])
  })

  test('is what the tutorial shows', () => {
    const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
    const code = read('examples/store/jsonl.ts')
    expect(code.split('\n').length).toBeLessThanOrEqual(100)
    expect(read('docs/a-store-of-your-own.md')).toContain(`\`\`\`ts\n${code}\`\`\``)
  })
})

const firstOf = async <A>(all: AsyncIterable<A>): Promise<A> => {
  for await (const one of all) return one
  return expect.fail('there is none')
}
