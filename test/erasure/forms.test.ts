import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { bytesIn, formsIn, formsOf } from '../support/forms.ts'
import { temporaryFolder } from '../support/stores.ts'

// What is erased is in no file of the store, not in any other spelling or encoding either.

/** A text with whatever is escaped somewhere. */
const secret = 'Zoë said: "My card\\account is 4111/2222 3333+4444?"\nPlease keep it 🙂 & thanks.'
const forms = formsOf(secret)

describe('the search for a text', () => {
  const compressions = {
    '': (bytes: Buffer) => bytes,
    gzip: gzipSync,
    zlib: deflateSync,
    zstd: zstdCompressSync,
    brotli: brotliCompressSync,
    deflate: deflateRawSync,
  }

  test.each(Object.entries(compressions))('finds every form of it (%s)', (compression, compress) => {
    const isWithMagic = ['', 'gzip', 'zlib', 'zstd'].includes(compression)
    for (const { name, pieces } of forms) {
      const folder = temporaryFolder()
      const around = Buffer.alloc(isWithMagic ? 5_000 : 0)
      writeFileSync(join(folder, 'file'), Buffer.concat([around, compress(Buffer.concat(pieces)), around]))
      expect(formsIn(bytesIn(folder), forms)).toContain([name, compression].filter(Boolean).join(', '))
    }
  })

  test('finds either half of it, and nothing else', () => {
    const folder = temporaryFolder()
    const file = join(folder, 'file')
    for (const { name, pieces } of forms)
      for (const piece of pieces) {
        writeFileSync(file, piece)
        expect(formsIn(bytesIn(folder), forms)).toContain(name)
      }
    writeFileSync(file, secret.replaceAll(/[^ ]/g, 'x'))
    expect(formsIn(bytesIn(folder), forms)).toEqual([])
  })
})

describe('an erased conversation', () => {
  /** Forms in which a store has the text of the conversation below. */
  const stored = [
    'plain',
    'JSON',
    'JSON in JSON',
    'URL',
    'plain, hex',
    ...[0, 1, 2].map((before) => `plain, base64 + ${before}`),
  ]

  it('leaves its texts in no file, in no form', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'store.db')
    const store = await openStore(`sqlite:${file}`)
    atEnd(store.close)
    const chat = store.conversation('task-42')
    const base64 = (before: number, after = 0) =>
      Buffer.from('.'.repeat(before) + secret + '.'.repeat(after)).toString('base64')
    const document = (data: string) => ({
      type: 'document' as const,
      source: { type: 'base64', media_type: 'application/pdf', data },
    })
    await chat.append([
      { role: 'user', content: secret },
      { role: 'user', content: [0, 1, 2].map((before) => document(base64(before))) },
      // Stored outside their events.
      { role: 'user', content: [document(base64(1, 100_000)), { type: 'text', text: secret.repeat(1_000) }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'save', input: { text: secret } }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'c', content: JSON.stringify({ saved: secret }) }],
      },
    ])
    await chat.note({ kind: 'title', data: secret })
    await chat.note({ kind: 'test/dump', data: { hex: Buffer.from(secret).toString('hex') } })
    await chat.link({ relation: 'about', ref: `https://example.org/?q=${encodeURIComponent(secret)}` })
    await chat.pause({ by: 'ann', reason: secret })
    await chat.resume({ by: 'ann' })
    expect((await store.catalogue.search('card')).items).not.toEqual([])
    expect(formsIn(bytesIn(folder), forms)).toEqual(expect.arrayContaining(stored))

    const db = new DatabaseSync(file)
    db.exec("UPDATE blobs SET time = '2026-01-01T00:00:00.000Z'")
    db.close()
    expect(await chat.erase({ by: 'ann' })).toMatchObject({ contents: 2, recent: 0, repeated: [] })
    expect((await store.catalogue.search('card')).items).toEqual([])
    expect(formsIn(bytesIn(folder), forms)).toEqual([])
    await store.close()
    expect(formsIn(bytesIn(folder), forms)).toEqual([])
  })
})
