import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, expect, it } from 'vitest'
import {
  type Anchor,
  checkInclusion,
  fileAnchor,
  leafHash,
  parseCheckpoint,
  parseKey,
  parseNote,
  signersOf,
} from '../../../src/audit.ts'
import { storeOn } from '../../../src/api/open.ts'
import { restoreFile } from '../../../src/api/schemes.ts'
import { openStore, type Store } from '../../../src/index.ts'
import { anchorFailed } from '../../../src/audit/ledger/errors.ts'
import type { LedgerProof } from '../../../src/audit/ledger/prove.ts'
import { batchSize } from '../../../src/audit/ledger/seal.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { stores, temporaryFolder } from '../../support/stores.ts'
import { newSigner, problemsIn, say, storeOf } from './scene.ts'

const begun = async (kind = 'memory') => {
  const [store, signer] = [await storeOf(kind), await newSigner()]
  const { key } = await store.audit.init({ signer, origin: 'example.com/log' })
  return { store, signer, key }
}

/** Whether whoever knows one key of the ledger is convinced. */
const convinces = ({
  conversation,
  revision,
  head,
  index,
  size,
  proof,
  checkpoint,
  keys,
}: LedgerProof): boolean => {
  const note = right(parseNote(checkpoint))
  const { root, size: signedSize } = right(parseCheckpoint(note.text))
  const known = keys.map(({ key }) => right(parseKey(key)))
  const signers = signersOf(note, known)
  const hashes = proof.map((each) => Buffer.from(each, 'base64'))
  const leaf = leafHash(`${conversation}\n${revision}\n${head}\n`)
  return (
    E.isRight(signers) &&
    signers.right.length > 0 &&
    signedSize === size &&
    checkInclusion({ leaf, index, size, root, proof: hashes })
  )
}

describe.each(Object.keys(stores))('a ledger in a store (%s)', (kind) => {
  it('seals what moved, once, and proves it', async () => {
    const { store, signer, key } = await begun(kind)
    await say(store, ['a', 'b'])
    expect(await store.audit.seal({ signer })).toMatchObject({ sealed: 2, size: 2, unsealable: [] })
    expect(await store.audit.seal({ signer })).toMatchObject({ sealed: 0, size: 2 })
    await say(store, ['a', 'c'])
    expect(await store.audit.status()).toMatchObject({ size: 2, unsealed: 2, exposedSince: 'beginning', key })
    expect(await store.audit.seal({ signer })).toMatchObject({ sealed: 2, size: 4 })
    const proofs = await Promise.all(['a', 'b', 'c'].map((id) => store.audit.proof(id)))
    expect(proofs.map(({ revision, size }) => [revision, size])).toEqual([
      [1, 4],
      [0, 4],
      [0, 4],
    ])
    expect(proofs.every(convinces)).toBe(true)
    expect(proofs.every((proof) => convinces({ ...proof, revision: proof.revision + 1 }))).toBe(false)
    await expect(store.audit.proof('d')).rejects.toMatchObject({ _tag: 'NotSealed', conversation: 'd' })
    expect(await problemsIn(store)).toEqual([])
    const ids = []
    for await (const { id } of store.conversations()) ids.push(id)
    expect(ids.toSorted()).toEqual(['a', 'b', 'c'])
  })

  it('grows over many tiles, and other handles continue it', async () => {
    const { store, signer } = await begun(kind)
    const many = Array.from({ length: 258 }, (_, n) => `task-${n}`)
    await say(store, many)
    expect(await store.audit.seal({ signer })).toMatchObject({ size: 258 })
    await say(store, many.slice(0, 4))
    expect(await store.audit.seal({ signer })).toMatchObject({ size: 262 })
    expect(convinces(await store.audit.proof('task-0'))).toBe(true)
    expect(convinces(await store.audit.proof('task-257'))).toBe(true)
    expect(await problemsIn(store)).toEqual([])
    const { unreferenced } = await store.gc({ dryRun: true })
    expect(unreferenced).toEqual([])
  })

  it('is replaced in its key, which the one before makes known', async () => {
    const { store, signer, key } = await begun(kind)
    await say(store, ['a'])
    await store.audit.seal({ signer })
    const to = await newSigner()
    const next = await store.audit.rotateKey({ signer, to })
    await say(store, ['b'])
    await expect(store.audit.seal({ signer })).rejects.toMatchObject({
      _tag: 'KeyMismatch',
      expected: next.key,
      actual: key,
      message: expect.stringContaining(`${key}, was replaced: since then ${next.key}`) as string,
    })
    await expect(store.audit.seal({ signer: await newSigner() })).rejects.toMatchObject({
      _tag: 'KeyMismatch',
      message: expect.stringContaining('has never signed the ledger') as string,
    })
    await store.audit.seal({ signer: to })
    const proof = await store.audit.proof('b')
    expect(convinces(proof)).toBe(true)
    expect(proof.keys.map((each) => [each.key, each.after])).toEqual([
      [key, 0],
      [next.key, 2],
    ])
    const { rotation } = proof.keys[1] as LedgerProof['keys'][number]
    const note = right(parseNote(rotation?.checkpoint ?? ''))
    for (const each of [key, next.key])
      expect(signersOf(note, [right(parseKey(each))])).toMatchObject({ right: [{ name: 'example.com/log' }] })
    const hashes = (rotation?.proof ?? []).map((each) => Buffer.from(each, 'base64'))
    const { root, size } = right(parseCheckpoint(note.text))
    expect(
      checkInclusion({ leaf: leafHash(`key\n${next.key}\n`), index: 1, size, root, proof: hashes }),
    ).toBe(true)
    for (const known of [key, next.key]) expect(await problemsIn(store, { key: known })).toEqual([])
    const { key: unknown } = await (await storeOf('memory')).audit.init({ signer, origin: 'another' })
    expect(await problemsIn(store, { key: unknown })).toEqual([{ kind: 'ledger' }])
  })

  it('is written by one sealer at a time: of two at once, each entry is sealed by one', async () => {
    const { store, signer } = await begun(kind)
    await say(store, ['a', 'b', 'c'])
    const both = await Promise.all([store.audit.seal({ signer }), store.audit.seal({ signer })])
    expect(new Set(both.map(({ sealed }) => sealed))).toEqual(new Set([0, 3]))
    expect(await problemsIn(store)).toEqual([])
  })
})

it('a new ledger seals long conversations among short ones by their ends, each once', async () => {
  const { store, signer, key } = await begun('sqlite')
  const many = Array.from({ length: 6_000 }, () => ({ role: 'user', content: 'Hello.' }) as const)
  for (const id of ['a', 'b']) {
    await say(store, [id])
    await store.conversation(id).append(many)
  }
  expect(await store.audit.seal({ signer })).toMatchObject({ sealed: 2, size: 2, unsealable: [] })
  expect(await store.audit.proof('a')).toMatchObject({ revision: 6_000 })
  expect(await problemsIn(store, { key })).toEqual([])
})

describe('the sealer', () => {
  it('follows the store until it is told to end, and leaves what still moves', async () => {
    const { store, signer } = await begun()
    const ending = new AbortController()
    const events: string[] = []
    const following = store.audit.follow({
      signer,
      signal: ending.signal,
      every: 1,
      quiet: 3_600_000,
      events: 2,
      onEvent: ({ type }) => events.push(type),
    })
    await say(store, ['a', 'b'])
    await say(store, ['a'])
    const unsealed = async (): Promise<readonly boolean[]> =>
      Promise.all(
        ['a', 'b'].map((id) =>
          store.audit.proof(id).then(
            () => true,
            () => false,
          ),
        ),
      )
    await expect
      .poll(async () => {
        await say(store, ['a'])
        return unsealed()
      })
      .toEqual([true, false])
    ending.abort()
    await following
    expect(events).toContain('sealed')
    expect(await store.audit.seal({ signer })).toMatchObject({ unsealable: [] })
    expect(await unsealed()).toEqual([true, true])
    expect(await problemsIn(store)).toEqual([])
  })

  it('seals everything that is due before it waits, however much that is', async () => {
    const { store, signer } = await begun()
    const ids = Array.from({ length: 3 * batchSize }, (_, n) => `task-${n}`)
    await say(store, ids)
    const ending = new AbortController()
    atEnd(() => ending.abort())
    let sealed = 0
    await store.audit.follow({
      signer,
      signal: ending.signal,
      every: 2 ** 31 - 1,
      quiet: 0,
      onEvent: (event) => {
        if (event.type === 'sealed') sealed += event.sealed
        if (sealed === ids.length) ending.abort()
      },
    })
    expect(sealed).toBe(ids.length)
    expect(await store.audit.status()).toMatchObject({ size: ids.length, unsealed: 0 })
  })

  it('gives a checkpoint again to the anchors that could not take it, though nothing was sealed since', async () => {
    const { store, signer } = await begun()
    await say(store, ['a'])
    const ending = new AbortController()
    atEnd(() => ending.abort())
    let isAway = true
    const anchor = (name: string, put: Anchor['put']): Anchor => ({ name, held: () => TE.right([]), put })
    const anchors = [
      anchor('near', ({ checkpoint }) => TE.right(checkpoint)),
      anchor('far', ({ checkpoint }) =>
        isAway ? TE.left(anchorFailed('far', 'is away')) : TE.right(checkpoint),
      ),
    ]
    const told: string[] = []
    await store.audit.follow({
      signer,
      anchors,
      signal: ending.signal,
      every: 1,
      anchorEvery: 1,
      quiet: 0,
      onEvent: (event) => {
        if (event.type !== 'anchored') return
        told.push(`${event.anchor} ${event.error ? 'failed' : 'has it'}`)
        if (told.length === 3) isAway = false
        if (told.length === 4) ending.abort()
      },
    })
    expect(told).toEqual(['near has it', 'far failed', 'far failed', 'far has it'])
  })
})

describe('the key of a ledger', () => {
  it('was lost of none before the first ledger, whatever is said', async () => {
    const store = await storeOf('memory')
    await store.audit.init({ signer: await newSigner(), again: 'the key was lost' })
    expect(await store.audit.status()).not.toHaveProperty('again')
  })

  it('is in a file for its owner only, which is not overwritten', async () => {
    const { newKeyFile, keyFile } = await import('../../../src/audit.ts')
    const file = join(temporaryFolder(), 'key.pem')
    const made = await newKeyFile(file)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect((await keyFile(file)).publicKey).toEqual(made.publicKey)
    await expect(newKeyFile(file)).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'key' })
    const open = join(temporaryFolder(), 'open.pem')
    writeFileSync(open, readFileSync(file), { mode: 0o644 })
    await expect(keyFile(open)).rejects.toMatchObject({
      message: expect.stringContaining('chmod 600') as string,
    })
  })

  it('restored from its backup, signs on; lost, another ledger is begun, and what the first one sealed still verifies', async () => {
    const { store, key, signer } = await begun()
    const lost = fileAnchor(join(temporaryFolder(), 'anchored.txt'))
    await say(store, ['a', 'b'])
    await store.audit.seal({ signer, anchors: [lost] })
    const { newKeyFile, keyFile } = await import('../../../src/audit.ts')
    const [file, copy] = [join(temporaryFolder(), 'key.pem'), join(temporaryFolder(), 'copy.pem')]
    const first = await newKeyFile(file)
    await expect(store.audit.init({ signer: first })).rejects.toMatchObject({
      _tag: 'LedgerExists',
      origin: 'example.com/log',
    })
    const another = { signer: first, origin: 'example.com/log-2', again: 'the key was lost' }
    await expect(store.audit.init(another)).rejects.toMatchObject({
      _tag: 'LedgerExists',
      message: expect.stringContaining('is intact') as string,
    })
    const second = await store.audit.init({ ...another, force: true })
    writeFileSync(copy, readFileSync(file), { mode: 0o600 })
    await say(store, ['a'])
    await store.audit.seal({ signer: await keyFile(copy) })
    expect(convinces(await store.audit.proof('a'))).toBe(true)
    expect(await problemsIn(store, { key: second.key })).toEqual([])
    const { again } = await store.audit.status()
    expect(again?.reason).toBe('the key was lost')
    // The first one is checked by the key of then, with its anchors; that it ended is a problem of its own.
    const findings = []
    for await (const finding of store.audit.verify({ key, anchors: [lost] })) findings.push(finding)
    expect(findings).toMatchObject([
      { kind: 'ledger', message: expect.stringContaining('the key was lost') as string },
      { type: 'done', entries: 2, problems: 1 },
    ])
  })
})

describe('an anchor', () => {
  const backedUp = async (): Promise<{
    readonly store: Store
    readonly file: string
    readonly folder: string
  }> => {
    const folder = temporaryFolder()
    const file = join(folder, 'store.db')
    const store = await openStore(`sqlite:${file}`)
    atEnd(store.close)
    return { store, file, folder }
  }

  it('that has seen more than a restored backup keeps it from being signed', async () => {
    const { store, file, folder } = await backedUp()
    const signer = await newSigner()
    const anchors = [fileAnchor(join(folder, 'anchored.txt'))]
    await store.audit.init({ signer })
    await say(store, ['a', 'b'])
    await store.audit.seal({ signer, anchors })
    await store.backup(join(folder, 'backup.db'))
    await say(store, ['c'])
    await store.audit.seal({ signer, anchors })
    expect((await store.audit.status()).exposedSince).toBe(undefined)

    await store.close()
    right(await restoreFile(`sqlite:${file}`, join(folder, 'backup.db'))())
    const restored = await openStore(`sqlite:${file}`)
    atEnd(restored.close)
    await say(restored, ['d'])
    await expect(restored.audit.seal({ signer, anchors })).rejects.toMatchObject({
      _tag: 'AnchorAhead',
      anchored: 3,
      actual: 2,
    })
    expect(await problemsIn(restored, { anchors })).toEqual([{ kind: 'anchor' }])
    // Without the anchor, the same key signs another history: which the anchor then shows.
    await restored.audit.seal({ signer })
    expect(await problemsIn(restored)).toEqual([])
    expect(await problemsIn(restored, { anchors })).toEqual([{ kind: 'anchor' }])
  })

  it('in a folder keeps each checkpoint in a file of its own; one that was altered is no proof', async () => {
    const { store, folder } = await backedUp()
    const signer = await newSigner()
    const anchors = [fileAnchor(`${folder}/anchored/`)]
    await store.audit.init({ signer })
    for (const id of ['a', 'b']) {
      await say(store, [id])
      expect((await store.audit.seal({ signer, anchors })).anchored).toEqual([
        { anchor: `${folder}/anchored/` },
      ])
    }
    expect(
      right(await (anchors[0] as (typeof anchors)[0]).held((await store.audit.status()).origin)()),
    ).toHaveLength(2)
    expect(await problemsIn(store, { anchors })).toEqual([])
    const elsewhere = [fileAnchor(join(folder, 'other.txt'))]
    expect(await problemsIn(store, { anchors: elsewhere })).toEqual([{ kind: 'anchor' }])
    appendFileSync(
      join(folder, 'other.txt'),
      (await store.audit.proof('a')).checkpoint.replace(/\n2\n/, '\n1\n'),
    )
    expect(await problemsIn(store, { anchors: elsewhere })).toEqual([{ kind: 'anchor' }, { kind: 'anchor' }])
  })

  it('that cannot be written is named, and what was sealed stays sealed', async () => {
    const { store, folder } = await backedUp()
    const signer = await newSigner()
    await store.audit.init({ signer })
    await say(store, ['a'])
    const anchors = [fileAnchor(join(folder, 'no/such/file.txt'))]
    const { sealed, anchored } = await store.audit.seal({ signer, anchors })
    expect([sealed, anchored[0]?.error?._tag]).toEqual([1, 'AnchorFailed'])
    expect((await store.audit.status()).exposedSince).toBe('beginning')
  })
})

it('is begun where an audit finds none: its problem says so', async () => {
  const store = await storeOf('memory')
  const problems: string[] = []
  for await (const finding of store.audit.verify({ anchors: [fileAnchor(join(temporaryFolder(), 'a.txt'))] }))
    if (finding.type === 'problem') problems.push(finding.message)
  expect(problems).toEqual([expect.stringContaining('palimpsest audit init')])
})

it('a sealer that follows the store reads each entry of the ledger once when it starts', async () => {
  const events = memoryStore()
  const read = new Map<number, number>()
  const counting: typeof events = {
    ...events,
    read: (range) => async () => {
      const page = await events.read(range)()
      if (range.stream === 'ledger-0')
        for (const { revision } of right(page)) read.set(revision, (read.get(revision) ?? 0) + 1)
      return page
    },
  }
  const store = storeOn(counting, { kind: 'test' })
  const signer = await newSigner()
  right(await store.audit.init({ signer })())
  for (let n = 0; n < 40; n++) {
    right(await store.conversation(`c${n}`).append({ role: 'user', content: 'Hello.' })())
    right(await store.audit.seal({ signer })())
  }
  right(await store.conversation('c0').append({ role: 'user', content: 'Once more.' })())
  read.clear()
  const stop = new AbortController()
  const onEvent = (): void => stop.abort()
  right(await store.audit.follow({ signer, quiet: 0, every: 1, signal: stop.signal, onEvent })())
  expect([...read.values()]).toEqual(Array.from({ length: 40 }, () => 1))
})
