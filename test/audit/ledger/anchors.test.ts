import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  type Anchor,
  fileAnchor,
  gitAnchor,
  parseKey,
  parseNote,
  signersOf,
  storeAnchor,
  witnessAnchor,
} from '../../../src/audit.ts'
import { openEvents } from '../../../src/api/open.ts'
import { openStore, type Store } from '../../../src/index.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { stores, temporaryFolder } from '../../support/stores.ts'
import { answering } from '../../support/timestamp-authority.ts'
import { witness } from '../../support/witness.ts'
import { newSigner, problemsIn, say, storeOf } from './scene.ts'

const git = (folder: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' })

/** A clone whose branch follows that of a repository elsewhere. */
const cloned = (): { readonly clone: string; readonly elsewhere: string } => {
  const [clone, elsewhere] = [temporaryFolder(), temporaryFolder()]
  git(elsewhere, 'init', '--quiet', '--bare', '--initial-branch=main')
  git(clone, 'init', '--quiet', '--initial-branch=main')
  git(clone, 'config', 'user.name', 'audit')
  git(clone, 'config', 'user.email', 'audit@example.com')
  git(clone, 'commit', '--quiet', '--allow-empty', '-m', 'Begin')
  git(clone, 'remote', 'add', 'origin', elsewhere)
  git(clone, 'push', '--quiet', '--set-upstream', 'origin', 'main')
  return { clone, elsewhere }
}

/** A sealed store, whose ledger has this key. */
const scene = async () => {
  const [store, signer] = [await storeOf('memory'), await newSigner()]
  const { key, origin } = await store.audit.init({ signer })
  return { store, signer, key, origin }
}

/** Every kind of anchor, for the ledger with a key; each call makes an empty one. */
const kinds: Readonly<Record<string, (key: string) => Promise<Anchor>>> = {
  file: async () => fileAnchor(join(temporaryFolder(), 'checkpoints.txt')),
  folder: async () => fileAnchor(temporaryFolder()),
  git: async () => gitAnchor(cloned().clone),
  store: async () => storeAnchor(await (stores['memory'] as () => ReturnType<(typeof stores)[string]>)()),
  witness: async (logKey) => {
    const { url, key } = await witness(logKey)
    return witnessAnchor({ url, key: right(parseKey(key)) })
  },
}

it('is never the store that has the ledger, by whatever name', async () => {
  const folder = temporaryFolder()
  const store = await openStore(`sqlite:${join(folder, 'store.db')}`)
  const itself = right(await openEvents(`sqlite:${folder}/./store.db`)())
  atEnd(store.close, itself.close())
  const signer = await newSigner()
  await store.audit.init({ signer })
  await say(store, ['a'])
  await expect(store.audit.seal({ signer, anchors: [storeAnchor(itself)] })).rejects.toMatchObject({
    _tag: 'AnchorFailed',
    message: expect.stringContaining('specify another store') as string,
  })
  expect(await store.audit.status()).toMatchObject({ size: 0, exposedSince: 'beginning' })
})

describe.each(Object.entries(kinds))('an anchor: %s', (_, make) => {
  it('that another sealer has given more meanwhile is not ahead', async () => {
    const { store, signer, key } = await scene()
    const anchor = await make(key)
    await say(store, ['a'])
    const sealLater = async (): Promise<void> => {
      await say(store, ['b'])
      await store.audit.seal({ signer, anchors: [anchor] })
    }
    let isFirst = true
    const slow: Anchor = {
      ...anchor,
      held: (origin) => async () => {
        if (isFirst) await sealLater()
        isFirst = false
        return anchor.held(origin)()
      },
    }
    expect(await store.audit.seal({ signer, anchors: [slow] })).toMatchObject({ sealed: 0, size: 2 })
  })

  it('holds what it was given, also given twice, and shows what was removed or sealed again since', async () => {
    const { store, signer, key, origin } = await scene()
    const anchor = await make(key)
    expect(right(await anchor.held(origin)())).toEqual([])
    await say(store, ['a', 'b'])
    for (const id of ['c', 'd']) {
      await store.audit.seal({ signer, anchors: [anchor] })
      await store.audit.seal({ signer, anchors: [anchor] })
      await say(store, [id])
    }
    await store.audit.seal({ signer, anchors: [anchor] })
    const held = right(await anchor.held(origin)())
    expect(held.at(-1)).toContain(`${origin}\n4\n`)
    expect(new Set(held).size).toBe(held.length)
    expect(right(await anchor.held('another')())).toEqual([])
    expect(await problemsIn(store, { anchors: [anchor] })).toEqual([])
    expect(await store.audit.status()).toMatchObject({
      anchors: [{ anchor: anchor.name, size: 4 }],
      unsealed: 0,
    })

    // The same origin and key, begun again elsewhere: two histories.
    const other = await storeOf('memory')
    await other.audit.init({ signer, origin })
    await say(other, ['a'])
    await expect(other.audit.seal({ signer, anchors: [anchor] })).rejects.toMatchObject({
      _tag: 'AnchorAhead',
      anchored: 4,
      actual: 0,
    })
    await say(other, ['b', 'c', 'd', 'e'])
    await other.audit.seal({ signer })
    await expect(other.audit.seal({ signer, anchors: [anchor] })).rejects.toMatchObject({
      _tag: 'LedgerDamaged',
    })
    expect((await problemsIn(other, { anchors: [anchor] }))[0]).toEqual({ kind: 'anchor' })
  })
})

describe('a git repository', () => {
  it('is pushed to whoever hosts it, a commit for each checkpoint', async () => {
    const { store, signer, origin } = await scene()
    const { clone, elsewhere } = cloned()
    for (const id of ['a', 'b']) {
      await say(store, [id])
      await store.audit.seal({ signer, anchors: [gitAnchor(clone)] })
    }
    expect(git(elsewhere, 'log', '--format=%s', 'main').trim().split('\n')).toEqual([
      `Keep checkpoint 2 of ${origin}`,
      `Keep checkpoint 1 of ${origin}`,
      'Begin',
    ])
  })

  it('has a file for each ledger, however alike their origins are, and still has what it was given in one', async () => {
    const { clone } = cloned()
    const alike = ['example.com/a', 'example.com_a']
    const ledgers = await Promise.all(
      alike.map(async (origin) => {
        const [store, signer] = [await storeOf('memory'), await newSigner()]
        await store.audit.init({ signer, origin })
        await say(store, ['a'])
        return { store, signer, anchors: [gitAnchor(clone)] }
      }),
    )
    for (const { store, signer, anchors } of ledgers) await store.audit.seal({ signer, anchors })
    const files = readdirSync(clone).filter((name) => name.endsWith('.txt'))
    expect(files).toHaveLength(2)
    // As one file for both had them.
    const texts = files.map((name) => readFileSync(join(clone, name), 'utf8'))
    writeFileSync(join(clone, 'example.com_a.txt'), texts.join('\n'))
    git(clone, 'rm', '--quiet', ...files)
    git(clone, 'add', '.')
    git(clone, 'commit', '--quiet', '-m', 'As before')
    for (const [n, { store, signer, anchors }] of ledgers.entries()) {
      expect(right(await gitAnchor(clone).held(alike[n] ?? '')())).toHaveLength(1)
      await say(store, ['b'])
      await store.audit.seal({ signer, anchors })
      expect(right(await gitAnchor(clone).held(alike[n] ?? '')())).toHaveLength(2)
      expect(await problemsIn(store, { anchors })).toEqual([])
    }
    expect(readdirSync(clone)).toEqual(expect.arrayContaining(['example.com_a.txt', ...files]))
  })

  it('that is none is named with what git says', async () => {
    const failed = await gitAnchor(temporaryFolder()).held('log')()
    expect(failed).toMatchObject({
      left: { _tag: 'AnchorFailed', message: expect.stringContaining('not a git repository') as string },
    })
  })
})

describe('a witness', () => {
  it('signs the checkpoint, which a proof then carries', async () => {
    const { store, signer, key } = await scene()
    const one = await witness(key)
    const known = right(parseKey(one.key))
    await say(store, ['a', 'b', 'c'])
    const anchors = [witnessAnchor({ url: one.url, key: known })]
    await store.audit.seal({ signer, anchors })
    await store.audit.seal({ signer, anchors })
    const note = right(parseNote((await store.audit.proof('b')).checkpoint))
    expect(signersOf(note, [right(parseKey(key)), known])).toEqual(E.right([right(parseKey(key)), known]))
    await say(store, ['b'])
    await store.audit.seal({ signer })
    expect((await store.audit.proof('b')).size).toBe(4)
    expect((await store.audit.proof('a')).size).toBe(3)
    expect(one.sizes).toEqual([3])
  })

  it('that answers with no signature of its own, refuses, or is away, has not signed', async () => {
    const { store, signer, key } = await scene()
    const [one, two] = [await witness(key), await witness(key)]
    await say(store, ['a'])
    const anchor = witnessAnchor({ url: one.url, key: right(parseKey(two.key)) })
    const failing = async (): Promise<string | undefined> =>
      (await store.audit.seal({ signer, anchors: [anchor] })).anchored[0]?.error?.message
    expect(await failing()).toContain('without a valid signature')
    const away = witnessAnchor({ url: 'http://127.0.0.1:9/', key: right(parseKey(one.key)) })
    await expect(store.audit.seal({ signer, anchors: [away] })).rejects.toMatchObject({
      _tag: 'AnchorFailed',
    })
    const long = await answering(() => Promise.resolve(Buffer.alloc(100_000, 'x')))
    await expect(
      store.audit.seal({ signer, anchors: [witnessAnchor({ url: long, key: right(parseKey(one.key)) })] }),
    ).rejects.toThrow('with more than 65536 bytes')
    const another = await scene()
    await say(another.store, ['a'])
    const { anchored } = await another.store.audit.seal({
      signer: another.signer,
      anchors: [witnessAnchor({ url: two.url, key: right(parseKey(two.key)) })],
    })
    expect(anchored[0]?.error?.message).toContain('refused the checkpoint (404')
  })
})

describe('an anchor that has lost what it was given', () => {
  const lost = async (isNews: boolean) => {
    const { store, signer, origin } = await scene()
    const folder = join(temporaryFolder(), 'disk/')
    const anchors = [fileAnchor(folder)]
    await say(store, ['a'])
    await store.audit.seal({ signer, anchors })
    rmSync(folder, { recursive: true })
    if (isNews) await say(store, ['b'])
    return { store, signer, origin, folder, anchors }
  }
  const loss = 'holds no checkpoint of this ledger, although it was given one of 1 entries'

  it.each([true, false])('is refused, and its folder is not made again: news %s', async (isNews) => {
    const { store, signer, folder, anchors } = await lost(isNews)
    await expect(store.audit.seal({ signer, anchors })).rejects.toMatchObject({
      _tag: 'AnchorFailed',
      message: expect.stringContaining(loss) as string,
    })
    expect(existsSync(folder)).toBe(false)
    expect(await store.audit.status()).toMatchObject({ size: 1 })
    expect(await problemsIn(store, { anchors })).toEqual([{ kind: 'anchor' }])
  })

  it.each([true, false])('is given the checkpoint again on purpose: news %s', async (isNews) => {
    const { store, signer, origin, anchors } = await lost(isNews)
    const { checkpoint } = await store.audit.seal({ signer, anchors, renewAnchors: true })
    expect(right(await fileAnchor(anchors[0]?.name ?? '').held(origin)())).toEqual([checkpoint])
    await say(store, ['c'])
    await store.audit.seal({ signer, anchors })
    expect(await problemsIn(store, { anchors })).toEqual([])
  })

  it('is refused as well if it cannot be read what it was given', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'store.db')
    const signer = await newSigner()
    const anchors = [fileAnchor(join(folder, 'disk/'))]
    const store = await openStore(`sqlite:${path}`)
    await store.audit.init({ signer })
    await say(store, ['a'])
    await store.audit.seal({ signer, anchors })
    await store.close()
    rmSync(join(folder, 'disk'), { recursive: true })
    const db = new DatabaseSync(path)
    db.exec(`UPDATE events SET data = '{"anchor":7}' WHERE type = 'LedgerAnchored'`)
    db.close()
    const again = await openStore(`sqlite:${path}`)
    atEnd(again.close)
    await expect(again.audit.seal({ signer, anchors })).rejects.toMatchObject({
      _tag: 'AnchorFailed',
      message: expect.stringContaining('cannot be read') as string,
    })
    expect((await problemsIn(again, { anchors })).map(({ kind }) => kind)).toContain('anchor')
  })

  it('while a sealer runs is given nothing', async () => {
    const { store, signer } = await scene()
    const folder = join(temporaryFolder(), 'disk/')
    await say(store, ['a'])
    const stop = new AbortController()
    const failures: string[] = []
    await store.audit.follow({
      signer,
      anchors: [fileAnchor(folder)],
      quiet: 0,
      every: 1,
      anchorEvery: 0,
      signal: AbortSignal.any([stop.signal, AbortSignal.timeout(60_000)]),
      onEvent: (event) => {
        if (event.type !== 'anchored') return
        if (event.error) failures.push(event.error.message)
        if (event.error) return stop.abort()
        rmSync(folder, { recursive: true })
        void say(store, ['b'])
      },
    })
    expect(failures).toEqual([expect.stringContaining(loss)])
    expect(existsSync(folder)).toBe(false)
  })
})

it('an anchor is given the last checkpoint when a sealer ends, although its next one was not due yet', async () => {
  const { store, signer, origin } = await scene()
  const anchor = fileAnchor(join(temporaryFolder(), 'checkpoints.txt'))
  const stop = new AbortController()
  await say(store, ['a'])
  await store.audit.follow({
    signer,
    anchors: [anchor],
    quiet: 0,
    every: 1,
    anchorEvery: 3_600_000,
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(60_000)]),
    onEvent: (event) => {
      if (event.type === 'anchored') void say(store, ['b'])
      if (event.type === 'sealed' && event.size === 2) stop.abort()
    },
  })
  const [last] = right(await anchor.held(origin)()).toReversed()
  expect(last).toContain(`${origin}\n2\n`)
})

it('the largest checkpoint counts that an anchor holds, also if a slow sealer put another after it', async () => {
  const { store, signer, origin } = await scene()
  const file = join(temporaryFolder(), 'checkpoints.txt')
  const notes: (string | undefined)[] = []
  for (const id of ['a', 'b', 'c']) {
    await say(store, [id])
    notes.unshift((await store.audit.seal({ signer })).checkpoint)
  }
  writeFileSync(file, notes.join('\n'))
  const older = await storeOf('memory')
  await older.audit.init({ signer, origin })
  await say(older, ['a', 'b'])
  await expect(older.audit.seal({ signer, anchors: [fileAnchor(file)] })).rejects.toMatchObject({
    _tag: 'AnchorAhead',
    anchored: 3,
  })
})

describe('what is no checkpoint among those that an anchor holds', () => {
  const sealedTwice = async (anchor: (folder: string) => Anchor) => {
    const { store, signer } = await scene()
    const folder = temporaryFolder()
    const anchors = [anchor(folder)]
    const seal = async (id: string) => {
      await say(store, [id])
      return store.audit.seal({ signer, anchors })
    }
    await seal('a')
    return { store, folder, anchors, seal }
  }
  const told = async (store: Store, anchors: readonly Anchor[]): Promise<readonly string[]> => {
    const messages: string[] = []
    for await (const finding of store.audit.verify({ anchors }))
      if (finding.type === 'problem') messages.push(finding.message)
    return messages
  }
  const rubbish = expect.stringContaining('holds something that is not a checkpoint') as string

  it.each([
    'garbage',
    'garbage\n',
    'example.com\n7\n',
    'example.com\n7\nAAAA\n\n',
    'a\n\n— c',
    'a\n\nb\n\n— c\n\nd',
  ])('in a file is told by an audit, and what follows it is compared: %j', async (garbage) => {
    const { store, folder, anchors, seal } = await sealedTwice((each) => fileAnchor(join(each, 'kept.txt')))
    const file = join(folder, 'kept.txt')
    appendFileSync(file, `\n${garbage}`)
    expect(await seal('b')).toMatchObject({ size: 2, anchored: [{ anchor: file }] })
    expect((await seal('c')).anchored).toEqual([{ anchor: file }])
    expect(await told(store, anchors)).toEqual([rubbish])
    const notes = right(await (anchors[0] as Anchor).held((await store.audit.status()).origin)())
    expect(notes.findLast((note) => !note.includes('garbage'))).toContain('\n3\n')
  })

  it('in a folder or a repository is told, also where a checkpoint was changed or emptied', async () => {
    const { store, folder, anchors, seal } = await sealedTwice((each) => fileAnchor(each))
    const [first = ''] = readdirSync(folder)
    await seal('b')
    for (const text of ['', 'nothing', readFileSync(join(folder, first), 'utf8').replace('\n1\n', '\nI\n')]) {
      writeFileSync(join(folder, first), text)
      expect(await told(store, anchors)).toEqual([rubbish])
    }
    expect((await seal('c')).anchored[0]?.error).toBeUndefined()
    const { clone } = cloned()
    const other = await sealedTwice(() => gitAnchor(clone))
    const name = readdirSync(clone).find((each) => each.endsWith('.txt')) ?? ''
    appendFileSync(join(clone, name), '\nnothing\n')
    git(clone, 'commit', '--quiet', '-am', 'Damage')
    expect((await other.seal('b')).anchored[0]?.error).toBeUndefined()
    expect(await told(other.store, other.anchors)).toEqual([rubbish])
  })
})

it('a file that holds something else is left as it is, and the sealer is told', async () => {
  const { store, signer } = await scene()
  const file = join(temporaryFolder(), 'notes.txt')
  writeFileSync(file, 'milk, eggs')
  await say(store, ['a'])
  const { anchored } = await store.audit.seal({ signer, anchors: [fileAnchor(file)] })
  expect(anchored).toMatchObject([{ error: { _tag: 'AnchorFailed' } }])
  expect(readFileSync(file, 'utf8')).toBe('milk, eggs')
})

// There, a parent exists and refuses every name.
it.skipIf(process.platform !== 'linux')(
  'an anchor in a folder that cannot be made fails at once',
  async () => {
    const { store, signer } = await scene()
    await say(store, ['a'])
    const { anchored } = await store.audit.seal({ signer, anchors: [fileAnchor('/proc/none/checkpoints/')] })
    expect(anchored).toMatchObject([{ error: { _tag: 'AnchorFailed' } }])
  },
)
