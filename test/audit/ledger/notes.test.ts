import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkpointText, parseCheckpoint } from '../../../src/audit/ledger/checkpoints.ts'
import { entryText, parseEntry } from '../../../src/audit/ledger/entries.ts'
import { leafHash } from '../../../src/audit/ledger/hashes.ts'
import { keyText, parseKey, publicBytes, type Signer, verifierKey } from '../../../src/audit/ledger/keys.ts'
import {
  cosignatureText,
  noteText,
  parseNote,
  parseSignatures,
  signNote,
  signersOf,
} from '../../../src/audit/ledger/notes.ts'
import { right } from '../../support/either.ts'
import { runs } from '../../support/runs.ts'

const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey
const signerOf = (key: KeyObject): Signer => ({
  publicKey: publicBytes(key) as Buffer,
  sign: (message) => Promise.resolve(sign(null, message, key)),
})

describe('a signed note', () => {
  // C2SP signed-note, "Example", and the example of Go's golang.org/x/mod/sumdb/note.
  const specification = {
    key: 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
    note: 'This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n',
  }
  const go = {
    key: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
    note: "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n",
  }

  it.each([specification, go])('verifies as its specification and Go say: $key', ({ key, note }) => {
    const known = right(parseKey(key))
    expect(keyText(known)).toBe(key)
    expect(noteText(right(parseNote(note)))).toBe(note)
    expect(signersOf(right(parseNote(note)), [known])).toEqual(E.right([known]))
  })

  it('is signed as Go signs it', async () => {
    const seed = Buffer.from('AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz', 'base64').subarray(1)
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
    const signer = signerOf(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
    const text = right(parseNote(go.note)).text
    expect(noteText(await signNote(text, 'PeterNeumann', signer))).toBe(go.note)
  })

  it('ignores signatures of unknown keys, and is invalid if that of a known one is wrong', async () => {
    const [ours, theirs] = [signerOf(newKey()), signerOf(newKey())]
    const note = await signNote('a text\n', 'ours', ours)
    const two = {
      ...note,
      signatures: [...note.signatures, ...(await signNote('a text\n', 'theirs', theirs)).signatures],
    }
    const [first, second] = [verifierKey('ours', ours.publicKey), verifierKey('theirs', theirs.publicKey)]
    expect(signersOf(two, [first])).toEqual(E.right([first]))
    expect(signersOf(two, [first, second])).toEqual(E.right([first, second]))
    expect(signersOf(two, [verifierKey('ours', theirs.publicKey)])).toEqual(E.right([]))
    expect(E.isLeft(signersOf({ ...two, text: 'another\n' }, [first]))).toBe(true)
  })

  it('is not read from what is no note', () => {
    const line = specification.note.split('\n')[2] as string
    for (const text of [
      '',
      'a\n',
      'a\n\n',
      `a\n\n${line}`,
      `a\n\n- x ${line}\n`,
      `a\u0007\n\n${line}\n`,
      `a\n\n${line}=\n`,
    ])
      expect(E.isLeft(parseNote(text))).toBe(true)
  })

  it('is cosigned by a witness over its text and a time', () => {
    const key = newKey()
    const witness = verifierKey('witness.example/w1', publicBytes(key) as Buffer, 'witness')
    const text = 'log\n3\nAAAA\n'
    const time = Buffer.alloc(8)
    time.writeBigUInt64BE(1_679_315_147n)
    const signature = Buffer.concat([time, sign(null, cosignatureText(text, 1_679_315_147), key)])
    const line = `— ${witness.name} ${Buffer.concat([Buffer.from(witness.id, 'hex'), signature]).toString('base64')}\n`
    const signatures = parseSignatures(line) ?? []
    expect(signersOf({ text, signatures }, [witness])).toEqual(E.right([witness]))
    expect(E.isLeft(signersOf({ text: `${text}x\n`, signatures }, [witness]))).toBe(true)
    expect(right(parseKey(keyText(witness)))).toEqual(witness)
    time.writeBigUInt64BE(8_640_000_000_001n)
    const late = Buffer.concat([time, sign(null, cosignatureText(text, 8_640_000_000_001), key)])
    const beyond = [{ name: witness.name, id: witness.id, signature: late }]
    expect(E.isLeft(signersOf({ text, signatures: beyond }, [witness])), 'a time that no date has').toBe(true)
  })

  it('names no key that was not copied whole', () => {
    const { key } = specification
    for (const text of [
      '',
      'x',
      key.replace('530d', '530e'),
      key.slice(0, -4),
      key.replace('foo', 'fo o'),
      `${key}\n`,
    ])
      expect(E.isLeft(parseKey(text))).toBe(true)
  })
})

describe('a checkpoint', () => {
  const require = createRequire(import.meta.url)
  const theirs = require(join(dirname(require.resolve('@sigstore/verify')), 'tlog/checkpoint.js')) as {
    readonly verifyCheckpoint: (
      entry: object,
      tlogs: readonly object[],
    ) => { readonly logSize: bigint; readonly logHash: Buffer }
  }

  it('verifies with an implementation that is not ours', async () => {
    const key = newKey()
    const origin = 'example.com/conversations'
    const root = leafHash('x')
    const note = noteText(
      await signNote(checkpointText({ origin, size: 70_000, root }), origin, signerOf(key)),
    )
    const { id } = verifierKey(origin, publicBytes(key) as Buffer)
    const logs = [
      { baseURL: `https://${origin}`, logID: Buffer.from(id, 'hex'), publicKey: createPublicKey(key) },
    ]
    const entry = (envelope: string) => ({ inclusionProof: { checkpoint: { envelope } } })
    const read = theirs.verifyCheckpoint(entry(note), logs)
    expect(read.logSize).toBe(70_000n)
    expect(Buffer.from(read.logHash)).toEqual(root)
    expect(() => theirs.verifyCheckpoint(entry(note.replace('70000', '70001')), logs)).toThrow(
      'invalid checkpoint signature',
    )
  })

  it('is read as it was written, with lines that others added', () => {
    const checkpoint = { origin: 'log', size: 0, root: leafHash('x') }
    expect(parseCheckpoint(checkpointText(checkpoint))).toEqual(E.right(checkpoint))
    expect(parseCheckpoint(`${checkpointText(checkpoint)}more\n`)).toEqual(E.right(checkpoint))
  })

  it('is not read from anything else', () => {
    const text = checkpointText({ origin: 'log', size: 17, root: leafHash('x') })
    for (const wrong of [
      '',
      'log\n17\n',
      text.replace('17', '017'),
      text.replace('17', '-1'),
      text.replace('17', '1e3'),
      text.trimEnd(),
      `${text}\n`,
      text.replace('=', ''),
    ])
      expect(E.isLeft(parseCheckpoint(wrong))).toBe(true)
  })
})

describe('an entry', () => {
  it('is three lines, or the two of a new key, and is read as it was written', () => {
    const head = fc.record({
      type: fc.constant('head' as const),
      name: fc.stringMatching(/^[A-Za-z0-9._:-]{1,20}$/),
      revision: fc.nat(),
      head: fc
        .uint8Array({ minLength: 32, maxLength: 32 })
        .map((bytes) => Buffer.from(bytes).toString('hex')),
    })
    const key = fc.record({ type: fc.constant('key' as const), key: fc.stringMatching(/^[a-z+]{1,20}$/) })
    fc.assert(
      fc.property(fc.oneof(head, key), (entry) => {
        expect(parseEntry(right(entryText(entry)))).toEqual(E.right(entry))
      }),
      { numRuns: runs(100) },
    )
    const of = (name: string) => entryText({ type: 'head', name, revision: 3, head: 'f'.repeat(64) })
    expect(of('key')).toEqual(E.right(`key\n3\n${'f'.repeat(64)}\n`))
    expect(E.isLeft(of('a\nb'))).toBe(true)
    for (const wrong of [
      '',
      'a\n',
      'a\n1\n',
      'key\na\nb\n',
      'a\n01\nff\n',
      `a\n1\n${'f'.repeat(64)}`,
      `a\n1\n${'f'.repeat(64)}\n\n`,
    ])
      expect(E.isLeft(parseEntry(wrong))).toBe(true)
  })
})
