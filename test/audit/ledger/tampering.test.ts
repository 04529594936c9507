import { randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fileAnchor, keyFile, newKeyFile } from '../../../src/audit.ts'
import { hashOf } from '../../../src/events/codec.ts'
import { checkpointText } from '../../../src/audit/ledger/checkpoints.ts'
import { leafHash } from '../../../src/audit/ledger/hashes.ts'
import { keyText, parseKey, verifierKey } from '../../../src/audit/ledger/keys.ts'
import { noteText, signNote } from '../../../src/audit/ledger/notes.ts'
import { edgeRoot, emptyEdge, grown } from '../../../src/audit/ledger/tiles.ts'
import { openStore, type Signer, type Store } from '../../../src/index.ts'
import { atEnd } from '../../support/at-end.ts'
import { wiper } from '../../support/server/wiper.ts'
import { temporaryFolder } from '../../support/stores.ts'
import { shell } from '../../cli/palimpsest.ts'
import { verdictLines, verifyEvidence } from '../../../src/audit/evidence/verify.ts'
import { right } from '../../support/either.ts'
import { judged, python } from '../../support/evidence/python.ts'
import { exportsOf, problemsIn, say } from './scene.ts'

// What somebody who can write to the database can do, with every hash computed again, so that the chain shows nothing.

interface Row {
  id: string
  type: string
  data: string
  metadata: string
}
type Data = Record<string, unknown>

/** A turn of a model that calls a tool which somebody must approve. */
const wiping = {
  client: wiper,
  model: 'm',
  tools: [{ name: 'wipe', input_schema: { type: 'object' } }],
  run: { wipe: { run: () => 'wiped', approve: true } },
} as const

let made = ''
let signer: Signer

/** A sealed and anchored store with a conversation of eleven events: receipts, a rewind, a summary. */
beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), 'palimpsest-'))
  const anchors = [fileAnchor(join(made, 'anchored.txt'))]
  signer = await newKeyFile(join(made, 'key.pem'))
  const store = await openStore(`sqlite:${join(made, 'store.db')}`)
  await store.audit.init({ signer })
  await say(store, ['other'])
  await store.audit.seal({ signer, anchors })
  await store.backup(join(made, 'older.db'))
  const parser = readFileSync(new URL('../../golden/receipts/parser.jsonl', import.meta.url), 'utf8')
  await store.importSession({ text: parser, file: 'parser.jsonl' })
  await store.audit.seal({ signer, anchors })
  await store.close()
})
afterAll(() => rmSync(made, { recursive: true, force: true }))

/** A copy of it to alter. */
const sealed = () => {
  const folder = temporaryFolder()
  cpSync(made, folder, { recursive: true })
  const file = join(folder, 'store.db')
  const open = async (): Promise<Store> => {
    const again = await openStore(`sqlite:${file}`)
    atEnd(again.close)
    return again
  }
  return { file, folder, anchors: [fileAnchor(join(folder, 'anchored.txt'))], open }
}

const stream = 'conversation-parser'

/** Writes a stream again: its events changed, chained and its end kept, or forgotten, as if they had been written so. */
const rewritten = (
  file: string,
  change: (rows: Row[]) => Row[],
  end: 'set' | 'forgotten' = 'set',
  name = stream,
): void => {
  const db = new DatabaseSync(file)
  const { id: key } = db.prepare('SELECT id FROM streams WHERE name = ?').get(name) as { id: number }
  const before = db
    .prepare('SELECT position, id, type, data, metadata FROM events WHERE stream = ? ORDER BY revision')
    .all(key) as unknown as (Row & { position: number })[]
  const rows = change(before.map((row) => ({ ...row })))
  db.prepare('DELETE FROM events WHERE stream = ?').run(key)
  let prev: string | null = null
  for (const [revision, row] of rows.entries()) {
    const metadata = JSON.stringify({ ...(JSON.parse(row.metadata) as Data), prev })
    prev = hashOf({ ...row, metadata })
    db.prepare(
      'INSERT INTO events (position, stream, revision, id, type, data, metadata, findable) VALUES (?, ?, ?, ?, ?, ?, ?, 1)',
    ).run(
      (before[revision] as { position: number }).position,
      key,
      revision,
      row.id,
      row.type,
      row.data,
      metadata,
    )
  }
  db.prepare('UPDATE streams SET last = ?, hash = ? WHERE id = ?').run(
    ...(end === 'set' ? [rows.length - 1, prev] : [null, null]),
    key,
  )
  db.close()
}

/** Marks the last event of a stream as one of a write that began at a revision, and was not completed. */
const hide = (file: string, name: string, from: number): void => {
  const of = `stream = (SELECT id FROM streams WHERE name = '${name}')`
  sql(
    file,
    `UPDATE events SET metadata = '{"$part":{"from":${from}},' || substr(metadata, instr(metadata, '"schema"'))
       WHERE ${of} AND revision = (SELECT max(revision) FROM events WHERE ${of});
     UPDATE streams SET last = NULL, hash = NULL WHERE name = '${name}'`,
  )
}

const sql = (file: string, statement: string): void => {
  const db = new DatabaseSync(file)
  db.exec(statement)
  db.close()
}

/** Adds entries to the ledger of a file, with the right root, signed in its name. @param rotates the first one makes a key known */
const addEntries = async (
  file: string,
  by: Signer,
  entries: readonly string[],
  rotates = false,
): Promise<void> => {
  const db = new DatabaseSync(file)
  const log = `(SELECT id FROM streams WHERE name = 'ledger-0')`
  const rows = db
    .prepare(`SELECT * FROM events WHERE stream = ${log} ORDER BY revision`)
    .all() as unknown as (Row & { stream: number; revision: number })[]
  const batches = rows.map(({ data }) => JSON.parse(data) as Data & { entries: string[]; checkpoint: string })
  const last = batches.at(-1) as Data & { checkpoint: string }
  const before = batches.flatMap((batch) => batch.entries)
  const { edge } = grown(emptyEdge, [...before, ...entries].map(leafHash))
  const origin = last.checkpoint.split('\n')[0] ?? ''
  const text = checkpointText({ origin, size: edge.size, root: edgeRoot(edge) })
  const revision = rows.length
  const rotations = rotates ? [revision] : []
  const checkpoint = noteText(await signNote(text, origin, by))
  db.prepare(
    `INSERT INTO events (stream, revision, id, type, data, metadata) VALUES (${log}, ?, ?, 'HeadsSealed', ?, ?)`,
  ).run(
    revision,
    randomUUID(),
    JSON.stringify({ ...last, from: before.length, entries, checkpoint, rotations }),
    rows[0]?.metadata ?? '',
  )
  db.exec(`UPDATE streams SET last = NULL, hash = NULL WHERE name = 'ledger-0'`)
  db.close()
}

/** Changes the data of one event. */
const inData =
  (at: number, change: (data: Data) => Data) =>
  (rows: Row[]): Row[] =>
    rows.with(at, {
      ...(rows[at] as Row),
      data: JSON.stringify(change(JSON.parse((rows[at] as Row).data) as Data)),
    })
const inOrigin = (at: number, change: (origin: Data) => Data) =>
  inData(at, (data) => ({ ...data, origin: change(data['origin'] as Data) }))
const text = (words: string) => [{ type: 'text', text: words }]
const later = (metadata: string): string =>
  JSON.stringify({ ...(JSON.parse(metadata) as Data), time: '2031-01-01T00:00:00.000Z' })
const isSwapped = (rows: Row[]): Row[] =>
  rows
    .with(1, { ...(rows[1] as Row), id: rows[3]?.id ?? '' })
    .with(3, { ...(rows[3] as Row), id: rows[1]?.id ?? '' })

/** By what is done, on which event. */
const chained: Readonly<
  Record<string, readonly [at: number, change: (rows: Row[]) => Row[], end?: 'forgotten']>
> = {
  'a message changed, with its end set': [
    1,
    inData(1, (data) => ({ ...data, content: text('Why is it fine?') })),
  ],
  'a message changed, with its end forgotten': [
    1,
    inData(1, (data) => ({ ...data, content: text('Why is it fine?') })),
    'forgotten',
  ],
  'the tail cut off': [10, (rows) => rows.slice(0, 9)],
  'ids swapped': [1, isSwapped],
  'times changed': [
    5,
    (rows) => rows.with(5, { ...(rows[5] as Row), metadata: later(rows[5]?.metadata ?? '') }),
  ],
  'a view removed': [8, inData(8, ({ view: _view, ...data }) => data)],
  'the last reply changed': [10, inData(10, (data) => ({ ...data, content: text('I did nothing.') }))],
  'thinking added that was never sent again': [
    10,
    inData(10, ({ content, ...data }) => ({
      ...data,
      content: [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        ...(Array.isArray(content) ? (content as unknown[]) : [{ type: 'text', text: String(content) }]),
      ],
    })),
  ],
  'the model changed': [10, inOrigin(10, (origin) => ({ ...origin, model: 'claude-haiku-5' }))],
  'usage changed': [
    10,
    inOrigin(10, (origin) => ({ ...origin, usage: { inputTokens: 1, outputTokens: 1 } })),
  ],
  'a receipt deleted': [10, inOrigin(10, ({ context: _context, ...origin }) => origin)],
  'a receipt computed again': [
    10,
    inOrigin(10, (origin) => ({
      ...origin,
      context: { ...(origin['context'] as Data), digest: 'f'.repeat(64) },
    })),
  ],
}

describe('what was rewritten is not sealed again', () => {
  const refusal = {
    conversation: 'parser',
    message: expect.stringContaining('contradicts the ledger') as string,
  }
  it.each(Object.entries(chained))('%s, and said more after it', async (_, [, change, end]) => {
    const { file, folder, anchors, open } = sealed()
    rewritten(file, change, end)
    const store = await open()
    await say(store, ['other', 'parser'], 'Go on.')
    const key = await keyFile(join(folder, 'key.pem'))
    const first = await store.audit.seal({ signer: key, anchors })
    expect(first).toMatchObject({ sealed: 1, unsealable: [refusal] })
    // It is said again by each seal, and by status, until somebody does something about it.
    expect(await store.audit.seal({ signer: key })).toMatchObject({ sealed: 0, unsealable: [refusal] })
    expect(await store.audit.status()).toMatchObject({
      unsealed: 1,
      exposedSince: expect.any(String) as string,
    })
    expect(await problemsIn(store, { anchors })).toContainEqual({
      kind: 'entry',
      conversation: 'parser',
      revision: 10,
    })
  })

  it('nor by a sealer that follows the store, which says so once and seals the others', async () => {
    const { file, folder, open } = sealed()
    rewritten(file, (rows) => rows.slice(0, 9))
    const store = await open()
    await say(store, ['parser', 'other'], 'Go on.')
    const key = await keyFile(join(folder, 'key.pem'))
    const told: string[] = []
    const stop = new AbortController()
    const pace = { quiet: 0, every: 1 }
    await store.audit.follow({
      signer: key,
      ...pace,
      signal: stop.signal,
      onEvent: (event) => {
        told.push(event.type === 'refused' ? `refused ${event.conversation}` : event.type)
        if (event.type !== 'sealed') return
        if (told.filter((type) => type === 'sealed').length < 3) void say(store, ['other'])
        else stop.abort()
      },
    })
    expect(told).toEqual(['refused parser', 'sealed', 'sealed', 'sealed'])
    expect(await store.audit.status()).toMatchObject({ unsealed: 1 })
  })

  it('and the event at the place that the ledger names may be gone: everything is looked at then', async () => {
    const { file, folder, anchors, open } = sealed()
    const before = await open()
    const newest = { role: 'user', content: 'Is that all?' } as const
    await before.conversation('last').append(newest)
    const key = await keyFile(join(folder, 'key.pem'))
    await before.audit.seal({ signer: key, anchors })
    await before.conversation('last').append({ role: 'assistant', content: 'Yes.' })
    let checkpoint = ''
    for await (const finding of before.audit.verify({ anchors }))
      if (finding.type === 'done') ({ checkpoint } = finding)
    await before.close()
    sql(file, `DELETE FROM events WHERE stream = (SELECT id FROM streams WHERE name = 'conversation-last')`)
    const store = await open()
    await say(store, ['other'])
    expect(await store.audit.status()).toMatchObject({ unsealed: 1 })
    expect(await store.audit.seal({ signer: key, anchors })).toMatchObject({ sealed: 1 })
    const gone = { kind: 'entry', conversation: 'last', revision: 0 }
    expect(await problemsIn(store, { anchors })).toContainEqual(gone)
    expect(await problemsIn(store, { anchors, since: checkpoint })).toContainEqual({ kind: 'store' })
  })
})

/** The same store, and in it a conversation in which a call was approved, all of it sealed. */
const decided = async () => {
  const scene = sealed()
  const key = await keyFile(join(scene.folder, 'key.pem'))
  const store = await scene.open()
  const chat = store.conversation('asked')
  await chat.append({ role: 'user', content: 'Wipe it.' })
  await chat.turn(wiping)
  await chat.approve('call_1', { by: 'ann', note: 'It is a test machine.' })
  return { ...scene, key, store, chat }
}

describe('what people decide is sealed', () => {
  const turns = 'turns-asked'
  const inDecision = (change: (data: Data) => Data) => (rows: Row[]) =>
    inData(
      rows.findIndex(({ type }) => type === 'CallDecided'),
      change,
    )(rows)

  it('with its conversation, and by itself when it comes later', async () => {
    const { key, store, chat, anchors } = await decided()
    expect(await store.audit.status()).toMatchObject({ unsealed: 1 })
    expect(await store.audit.seal({ signer: key, anchors })).toMatchObject({ sealed: 1, turns: 1 })
    expect(await store.audit.status()).toMatchObject({ unsealed: 0 })
    await chat.withdraw('call_1', { by: 'bob' })
    expect(await store.audit.status()).toMatchObject({ unsealed: 1 })
    expect(await store.audit.seal({ signer: key, anchors })).toMatchObject({ sealed: 0, turns: 1 })
    expect(await store.audit.seal({ signer: key, anchors })).toMatchObject({ sealed: 0, turns: 0 })
    expect(await store.audit.status()).toMatchObject({ unsealed: 0 })
    expect(await problemsIn(store, { anchors })).toEqual([])
  })

  it('which the command line says, and exports', async () => {
    const { store, folder, file } = await decided()
    const { key } = await store.audit.status()
    await store.close()
    const run = (words: string) => shell(`palimpsest audit ${words} --store sqlite:${file}`, folder)
    expect((await run(`seal --key ${join(folder, 'key.pem')}`)).stdout).toBe(
      '1 conversation, and the turns of 1, sealed, 4 entries in the ledger\n',
    )
    expect((await run('export asked --out evidence')).code).toBe(0)
    const { stdout } = await shell(`palimpsest audit show evidence --key ${key}`, folder)
    expect(stdout).toMatch(/^ {2}T\d+ \S+ CallDecided\n {6}.*"by":"ann","note":"It is a test machine\."/m)
    expect(stdout).toMatch(/decisions on calls: 1\n/)
    expect(stdout.endsWith('\n  PROVEN\n')).toBe(true)
  })

  it('by a sealer that follows the store as well', async () => {
    const { key, store } = await decided()
    const stop = new AbortController()
    const told: string[] = []
    await store.audit.follow({
      signer: key,
      quiet: 0,
      every: 1,
      signal: stop.signal,
      onEvent: (event) => {
        told.push(event.type)
        stop.abort()
      },
    })
    expect(told).toEqual(['sealed'])
    expect(await store.audit.status()).toMatchObject({ unsealed: 0 })
  })

  const changes: Readonly<Record<string, (rows: Row[]) => Row[]>> = {
    'who decided': inDecision((data) => ({ ...data, by: 'eve' })),
    why: inDecision((data) => ({ ...data, note: 'I was told to.' })),
    'the decision': inDecision((data) => ({ ...data, decision: 'denied' })),
    'the end, cut off': (rows) => rows.slice(0, -1),
    'all of it': () => [],
  }
  it.each(Object.entries(changes))('and what is changed later is noticed: %s', async (_, change) => {
    const { key, store, file, anchors, open } = await decided()
    await store.audit.seal({ signer: key, anchors })
    await store.close()
    rewritten(file, change, 'set', turns)
    const again = await open()
    const { discrepancy } = await again.conversation('asked').verify({ file: false })
    expect(discrepancy).toBe(undefined)
    const found = await problemsIn(again, { anchors })
    expect(found).toEqual([{ kind: 'entry', conversation: 'asked', revision: expect.any(Number) as number }])
    await expect(again.audit.proof('asked', { compare: true })).rejects.toMatchObject({
      _tag: 'SealContradicted',
      conversation: 'asked',
    })
    // Nor is it sealed again with what comes after it.
    await again.conversation('asked').cancel({ by: 'eve' })
    expect(await again.audit.seal({ signer: key, anchors })).toMatchObject({
      turns: 0,
      unsealable: [{ conversation: 'asked', message: expect.stringContaining('its turns') as string }],
    })
  })

  it('and is not taken for a conversation that is called as its stream is', async () => {
    const { key, store, file, anchors, open } = await decided()
    await say(store, [turns])
    await store.audit.seal({ signer: key, anchors })
    expect(await store.audit.seal({ signer: key, anchors })).toMatchObject({ sealed: 0, turns: 0 })
    expect(await problemsIn(store, { anchors })).toEqual([])
    await store.close()
    rewritten(file, () => [], 'set', `conversation-${turns}`)
    const gone = { kind: 'entry', conversation: turns, revision: 0 }
    expect(await problemsIn(await open(), { anchors })).toContainEqual(gone)
  })

  it('and is in the bundle of its conversation, with each entry of the ledger', async () => {
    const { key, store, chat, folder, anchors } = await decided()
    await store.audit.seal({ signer: key, anchors })
    await chat.append({ role: 'user', content: 'Once more.' })
    await chat.withdraw('call_1', { by: 'bob' }).catch(() => undefined)
    await store.audit.seal({ signer: key, anchors })
    const { key: known } = await store.audit.status()
    const bundleOf = async (name: string, withhold: readonly number[] = []) => {
      const out = join(folder, name)
      const ledger = await store.audit.proof('asked', { compare: true })
      const written = await chat.evidence({ folder: out, ledger, withhold })
      const verified = await verifyEvidence(out, right(parseKey(known)))
      if (python) expect(judged([out], known).said.get(out)).toEqual(verdictLines(verified))
      return { ...written, verified, told: readFileSync(join(out, 'turns.txt'), 'utf8'), out }
    }
    const { verified, told, out } = await bundleOf('whole')
    expect(verified).toMatchObject({ verdict: 'proven', ledger: { key: known } })
    expect(told).toContain('"by":"ann","note":"It is a test machine."')
    const entries = readFileSync(join(out, 'entries.jsonl'), 'utf8').trimEnd().split('\n')
    const named = entries.map((line) => {
      const { name, revision } = JSON.parse(line) as { name: string; revision: number }
      return `${name} ${revision}`
    })
    expect(named.filter((name) => name.startsWith('asked'))).toEqual(['asked 2', 'asked 3'])
    expect(named.filter((name) => name.startsWith(`stream ${turns}`)).length).toBeGreaterThan(0)
    // What is withheld of the conversation is not told by its turns.
    const redacted = await bundleOf('redacted', [2])
    expect(redacted.verified.verdict).toBe('partly')
    expect(redacted.told).not.toMatch(/wipe|call_1|ann/)
    expect(redacted.turns.withheld.length).toBeGreaterThan(0)
    // A proof of the newest entry only is not enough.
    const newest = await store.audit.proof('asked')
    await expect(chat.evidence({ folder: join(folder, 'less'), ledger: newest })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'ledger',
    })
  })

  it('also what was there when a version sealed that knew conversations only', async () => {
    const { key, store, file, anchors, open } = await decided()
    let end = ''
    for await (const finding of store.audit.verify())
      if (finding.type === 'done') end = finding.checkpoint.split('@')[1] ?? ''
    await store.close()
    sql(
      file,
      `UPDATE events SET data = json_set(json_remove(data, '$.turns'), '$.after', '${end}') WHERE type = 'HeadsSealed'`,
    )
    const again = await open()
    expect(await again.audit.status()).toMatchObject({ unsealed: 1 })
    expect(await again.audit.seal({ signer: key, anchors })).toMatchObject({ sealed: 1, turns: 1 })
    expect(await problemsIn(again, { anchors })).toEqual([])
  })

  it('and a ledger of such a version is looked through once, even if nothing is new', async () => {
    const { file, folder, open } = sealed()
    sql(file, `UPDATE events SET data = json_remove(data, '$.turns') WHERE type = 'HeadsSealed'`)
    const store = await open()
    const key = await keyFile(join(folder, 'key.pem'))
    const before = await store.audit.status()
    expect(await store.audit.seal({ signer: key })).toMatchObject({ sealed: 0, turns: 0, size: before.size })
    await store.close()
    const db = new DatabaseSync(file)
    const batches = () =>
      db.prepare(`SELECT data ->> '$.turns' AS turns FROM events WHERE type = 'HeadsSealed'`).all()
    expect(batches().at(-1)).toEqual({ turns: 1 })
    const again = await open()
    const count = batches().length
    await again.audit.seal({ signer: key })
    expect(batches()).toHaveLength(count)
    db.close()
    expect(await problemsIn(again)).toEqual([])
  })

  it('and a whole audit notices that a sealer passed over it', async () => {
    const { key, store, chat, file, anchors, open } = await decided()
    await store.audit.seal({ signer: key, anchors })
    await chat.withdraw('call_1', { by: 'bob' })
    let end = ''
    for await (const finding of store.audit.verify())
      if (finding.type === 'done') end = finding.checkpoint.split('@')[1] ?? ''
    await store.close()
    sql(file, `UPDATE events SET data = json_set(data, '$.after', '${end}') WHERE type = 'HeadsSealed'`)
    expect(await problemsIn(await open())).toEqual([
      { kind: 'entry', conversation: 'asked', revision: expect.any(Number) as number },
    ])
  })
})

describe('what contradicts the ledger is not exported as evidence', () => {
  it.each([
    ['the conversation itself', 'parser', 'parser', 10],
    ['what it was forked from', 'other-parser', 'parser', 10],
  ])('%s', async (_, id, conversation, revision) => {
    const { file, folder, open } = sealed()
    const before = await open()
    const fork = await before.conversation('parser').fork('other-parser')
    await fork.append({ role: 'user', content: 'Thanks.' })
    await before.audit.seal({ signer: await keyFile(join(folder, 'key.pem')) })
    expect(await before.audit.proof(id, { compare: true })).toMatchObject({ conversation: id })
    await before.close()
    rewritten(file, isSwapped)
    const store = await open()
    const contradicted = { _tag: 'SealContradicted', conversation, revision }
    await expect(store.audit.proof(id, { compare: true })).rejects.toMatchObject(contradicted)
    const out = join(folder, 'bundle')
    const refused = await shell(`palimpsest audit export ${id} --out ${out} --store sqlite:${file}`, folder)
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('contradicts the ledger') as string,
    })
    expect(existsSync(out)).toBe(false)
    expect(await exportsOf(store)).toEqual([])
    const forced = await shell(
      `palimpsest audit export ${id} --out ${out} --force --store sqlite:${file}`,
      folder,
    )
    expect(forced.code).toBe(0)
  })

  it('and what a sealer vouched for all the same is broken for whoever gets the bundle', async () => {
    const { file, folder, open } = sealed()
    const before = await open()
    const { key } = await before.audit.status()
    await before.close()
    rewritten(file, (rows) => [...inData(10, (data) => ({ ...data, content: text('I did nothing.') }))(rows)])
    // As a sealer of 0.1.0 would, which compared nothing.
    const store = await open()
    let head = ''
    for await (const event of store.conversation('parser').stored({ to: 10 })) head = hashOf(event)
    await addEntries(file, await keyFile(join(folder, 'key.pem')), [`parser\n10\n${head}\n`])
    const out = join(folder, 'bundle')
    const forced = await shell(
      `palimpsest audit export parser --out ${out} --force --store sqlite:${file}`,
      folder,
    )
    expect(forced.code).toBe(0)
    const verified = await verifyEvidence(out, right(parseKey(key)))
    expect(verified).toMatchObject({
      verdict: 'broken',
      problem: 'entry 1 of the signed ledger does not match the bundle',
    })
    if (python) expect(judged([out], key).said.get(out)).toEqual(verdictLines(verified))
  })

  it('but a fork from before what was changed is', async () => {
    const { file, folder, open } = sealed()
    const before = await open()
    await before.conversation('parser').fork('early', { at: 3 })
    await before.audit.seal({ signer: await keyFile(join(folder, 'key.pem')) })
    await before.close()
    rewritten(file, (rows) => rows.slice(0, 9))
    expect(await (await open()).audit.proof('early', { compare: true })).toMatchObject({ revision: 0 })
  })
})

describe('what cannot be decoded of the ledger is a finding, and the rest is checked', () => {
  it.each([
    ['its beginning', 'ledger', 0],
    ['its first entries', 'ledger-0', 0],
    ['its last entries', 'ledger-0', 1],
  ])('%s', async (_, name, revision) => {
    const { file, anchors, open } = sealed()
    sql(
      file,
      `UPDATE events SET data = '{}' WHERE revision = ${revision} AND stream = (SELECT id FROM streams WHERE name = '${name}')`,
    )
    rewritten(file, isSwapped)
    sql(
      file,
      `UPDATE events SET data = replace(data, 'parser', 'PARSER') WHERE revision = 2 AND stream = (SELECT id FROM streams WHERE name = '${stream}')`,
    )
    const found = await problemsIn(await open(), { anchors })
    expect(found).toContainEqual({ kind: 'ledger' })
    expect(found).toContainEqual({ kind: 'conversation', conversation: 'parser' })
  })
})

describe('what the chain does not show, the sealed ledger does', () => {
  it.each(Object.entries(chained))('%s', async (what, [at, change, end]) => {
    const { file, anchors, open } = sealed()
    rewritten(file, change, end)
    const store = await open()
    const { discrepancy } = await store.conversation('parser').verify({ file: false })
    expect(discrepancy).toBe(undefined)
    const found = await problemsIn(store, { anchors })
    expect(found).toContainEqual({ kind: 'entry', conversation: 'parser', revision: 10 })
    expect(at).toBeLessThanOrEqual(10)
    const { heads } = await store.audit.standing('parser')
    expect(heads.map(({ state }) => state)).toEqual([what === 'the tail cut off' ? 'gone' : 'changed'])
  })

  it.each([
    [
      'a conversation dropped',
      `DELETE FROM events WHERE stream = (SELECT id FROM streams WHERE name = '${stream}'); DELETE FROM streams WHERE name = '${stream}'`,
      [],
    ],
    [
      'a conversation renamed',
      `UPDATE streams SET name = 'conversation-renamed' WHERE name = '${stream}'`,
      ['renamed'],
    ],
  ])('%s', async (_, statement, unsealed) => {
    const { file, anchors, open } = sealed()
    sql(file, statement)
    const store = await open()
    expect(await problemsIn(store, { anchors })).toEqual(
      ['parser', ...unsealed].map((conversation) => ({ kind: 'entry', conversation, revision: 10 })),
    )
  })

  it('its end hidden, as if it were of a write that was never completed', async () => {
    const { file, anchors, open } = sealed()
    hide(file, stream, 7)
    const store = await open()
    expect(await store.conversation('parser').position()).toBeLessThan(7)
    expect(await problemsIn(store, { anchors })).toEqual([
      { kind: 'entry', conversation: 'parser', revision: 10 },
    ])
    expect((await store.audit.standing('parser')).heads.map(({ state }) => state)).toEqual(['gone'])
    await store.close()
    hide(file, stream, 0)
    expect(await problemsIn(await open(), { anchors })).toEqual([
      { kind: 'entry', conversation: 'parser', revision: 10 },
    ])
  })

  it('but a conversation whose first write was never completed is no problem', async () => {
    const { file, anchors, open } = sealed()
    const store = await open()
    await say(store, ['interrupted'])
    await store.close()
    hide(file, 'conversation-interrupted', 0)
    expect(await problemsIn(await open(), { anchors })).toEqual([])
  })

  it('and between two seals, since when', async () => {
    const { file, folder, open } = sealed()
    const store = await open()
    const chat = store.conversation('parser')
    await chat.append({ role: 'user', content: 'Thanks.' })
    await store.audit.seal({ signer: await keyFile(join(folder, 'key.pem')) })
    await store.close()
    rewritten(
      file,
      inData(11, (data) => ({ ...data, content: text('Thanks a lot.') })),
    )
    const { heads } = await (await open()).audit.standing('parser')
    expect(heads).toMatchObject([
      { position: 11, state: 'changed' },
      { position: 10, state: 'same' },
    ])
  })

  it.each([
    ['a text before what was sealed last', 'parser', 'replace'],
    ['a text that a fork inherited', 'other-parser', 'replace'],
    ['a missing event', 'parser', 'delete'],
  ] as const)('and where only the chain is broken: %s', async (_, id, how) => {
    const { file, folder, open } = sealed()
    const store = await open()
    const fork = await store.conversation('parser').fork('other-parser', { at: 9 })
    await fork.append({ role: 'user', content: 'Thanks.' })
    await store.audit.seal({ signer: await keyFile(join(folder, 'key.pem')) })
    const states = async (of: Store): Promise<readonly string[]> =>
      (await of.audit.standing(id)).heads.map(({ state }) => state)
    expect(await states(store)).toEqual(['same'])
    await store.close()
    const event = `stream = (SELECT id FROM streams WHERE name = '${stream}') AND revision = 3`
    sql(
      file,
      how === 'delete'
        ? `DELETE FROM events WHERE ${event}`
        : `UPDATE events SET data = replace(data, '"role"', '"role" ') WHERE ${event}`,
    )
    expect(await states(await open())).toEqual(['changed'])
  })

  it('the whole file replaced by an older one, or the ledger cut to what it was: by an anchor', async () => {
    const { file, folder, anchors, open } = sealed()
    cpSync(join(folder, 'older.db'), file)
    const store = await open()
    expect(await problemsIn(store)).toEqual([])
    expect(await problemsIn(store, { anchors })).toEqual([{ kind: 'anchor' }])
  })

  it('the ledger cut, or its beginning put after its end, while the store still says what anchors have', async () => {
    const { file, anchors, open } = sealed()
    const log = `(SELECT id FROM streams WHERE name = 'ledger-0')`
    const again = sealed()
    sql(
      file,
      `DELETE FROM events WHERE stream = ${log} AND revision = 1; UPDATE streams SET last = NULL, hash = NULL WHERE id = ${log}`,
    )
    const store = await open()
    for (const named of [anchors, []])
      expect(await problemsIn(store, { anchors: named })).toEqual([{ kind: 'anchor' }])
    await expect(store.audit.proof('other')).rejects.toMatchObject({
      _tag: 'LedgerDamaged',
      message: expect.stringContaining('the ledger has 1: entries were removed') as string,
    })
    sql(
      again.file,
      `INSERT INTO events (stream, revision, id, type, data, metadata)
        SELECT stream, 2, id, type, data, metadata FROM events WHERE stream = ${log} AND revision = 0;
       UPDATE streams SET last = NULL, hash = NULL WHERE id = ${log}`,
    )
    const found = []
    for await (const finding of (await again.open()).audit.verify())
      if (finding.type === 'problem') found.push(finding.message)
    expect(found[0]).toBe('entries from 0 on are repeated after 2 entries')
  })

  it('the ledger written again by somebody without the key, or removed', async () => {
    const { file, anchors, open } = sealed()
    const forged = new DatabaseSync(file)
    const row = forged
      .prepare(`SELECT position, data FROM events WHERE type = 'HeadsSealed' ORDER BY position DESC LIMIT 1`)
      .get() as { position: number; data: string }
    const data = JSON.parse(row.data) as Data & { entries: string[] }
    const entries = data.entries.map((entry) => entry.replace(/[0-9a-f]{64}/, 'f'.repeat(64)))
    forged
      .prepare('UPDATE events SET data = ? WHERE position = ?')
      .run(JSON.stringify({ ...data, entries }), row.position)
    forged.close()
    const store = await open()
    const found = await problemsIn(store, { anchors })
    expect(found.map(({ kind }) => kind)).toEqual(['anchor', 'ledger', 'entry'])
    await expect(store.audit.proof('other')).rejects.toMatchObject({ _tag: 'LedgerDamaged' })
    await store.close()
    sql(
      file,
      `DELETE FROM events WHERE stream IN (SELECT id FROM streams WHERE name LIKE 'ledger%'); DELETE FROM streams WHERE name LIKE 'ledger%'`,
    )
    expect((await problemsIn(await open(), { anchors })).map(({ kind }) => kind)).toEqual(['ledger'])
  })

  it('history written again and sealed once more with the stolen key: by an anchor', async () => {
    const { file, anchors, open } = sealed()
    rewritten(
      file,
      inData(10, (data) => ({ ...data, content: text('I did nothing.') })),
    )
    sql(
      file,
      `DELETE FROM events WHERE stream IN (SELECT id FROM streams WHERE name = 'ledger-0' OR name = 'ledger-0-anchors')`,
    )
    sql(file, `UPDATE streams SET last = NULL, hash = NULL WHERE name LIKE 'ledger-0%'`)
    const store = await open()
    await store.audit.seal({ signer })
    expect(await problemsIn(store)).toEqual([])
    const found = await problemsIn(store, { anchors })
    expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(['anchor']))
  })

  it('all of it written again under a new key, which then names the known one as its successor: by the known key', async () => {
    const { file, open } = sealed()
    const before = await open()
    const { key } = await before.audit.status()
    expect(await problemsIn(before, { key })).toEqual([])
    await before.close()
    sql(
      file,
      `DELETE FROM events WHERE stream IN (SELECT id FROM streams WHERE name LIKE 'ledger%'); DELETE FROM streams WHERE name LIKE 'ledger%'`,
    )
    const store = await open()
    const forger = await newKeyFile(join(temporaryFolder(), 'forged.pem'))
    await store.audit.init({ signer: forger, origin: key.split('+')[0] })
    await store.audit.seal({ signer: forger })
    await addEntries(file, forger, [`key\n${key}\n`], true)
    expect((await store.audit.status()).key).toBe(key)
    // It is not the one that has signed, and none that is to sign has.
    expect(await problemsIn(store, { key })).toEqual([{ kind: 'ledger' }, { kind: 'ledger' }])
  })

  it.each([
    ['an event that never was', () => [`parser\n11\n${'f'.repeat(64)}\n`]],
    ['a key of their own', (forged) => [`key\n${forged}\n`]],
    ['the same, in a ledger that seems to be theirs', (forged, key) => [`key\n${key}\n`, `key\n${forged}\n`]],
  ] as [string, (forged: string, key: string) => string[]][])(
    'entries of somebody without the key, before anything is signed that holds them: %s',
    async (_, entriesOf) => {
      const { file, anchors, open } = sealed()
      const forger = await newKeyFile(join(temporaryFolder(), 'forged.pem'))
      const store = await open()
      const { key, origin } = await store.audit.status()
      const forged = keyText(verifierKey(origin, forger.publicKey))
      const entries = entriesOf(forged, key)
      const seemsTheirs = entries.length > 1
      await addEntries(file, forger, entries, seemsTheirs)
      if (seemsTheirs)
        sql(file, `UPDATE events SET data = replace(data, '${key}', '${forged}') WHERE type = 'LedgerBegun'`)
      expect((await store.audit.status()).key).toBe(key)
      await say(store, ['another'])
      const refused = {
        _tag: 'LedgerDamaged',
        message: expect.stringContaining('its last checkpoint is not signed with its key') as string,
      }
      await expect(store.audit.seal({ signer, anchors })).rejects.toMatchObject(refused)
      await expect(store.audit.rotateKey({ signer, to: forger })).rejects.toMatchObject(refused)
    },
  )

  it.each([
    [
      'how far the ledger has sealed moved on',
      (file: string, place: string) =>
        sql(
          file,
          `UPDATE events SET data = json_set(data, '$.after', '${place}') WHERE type = 'HeadsSealed'`,
        ),
    ],
    [
      'its place in the store exchanged with that of a sealed event',
      (file: string) => {
        const placeOf = (name: string) =>
          `(SELECT position FROM events WHERE stream = (SELECT id FROM streams WHERE name = 'conversation-${name}'))`
        sql(
          file,
          `CREATE TEMP TABLE places AS SELECT ${placeOf('late')} AS late, ${placeOf('other')} AS other;
           UPDATE events SET position = -1 WHERE position = (SELECT late FROM places);
           UPDATE events SET position = (SELECT late FROM places) WHERE position = (SELECT other FROM places);
           UPDATE events SET position = (SELECT other FROM places) WHERE position = -1`,
        )
      },
    ],
  ])('that a sealer passes over a conversation: %s', async (_, change) => {
    const { file, anchors, open } = sealed()
    const store = await open()
    await say(store, ['late'])
    let end = ''
    for await (const finding of store.audit.verify({ anchors })) {
      expect(finding.type).toBe('done')
      if (finding.type === 'done') end = finding.checkpoint.split('@')[1] ?? ''
    }
    await store.close()
    change(file, end)
    const again = await open()
    expect(await again.audit.seal({ signer, anchors })).toMatchObject({ sealed: 0 })
    expect(await problemsIn(again, { anchors })).toEqual([
      { kind: 'entry', conversation: 'late', revision: 0 },
    ])
    await again.conversation('late').append({ role: 'user', content: 'Once more.' })
    expect(await again.audit.seal({ signer, anchors })).toMatchObject({ sealed: 1 })
    expect(await problemsIn(again, { anchors })).toEqual([])
  })

  it('a place that its ledger could not have sealed to', async () => {
    const { file, open } = sealed()
    sql(file, `UPDATE events SET data = json_set(data, '$.after', 'nowhere') WHERE type = 'HeadsSealed'`)
    const store = await open()
    await say(store, ['late'])
    expect(await problemsIn(store)).toEqual([{ kind: 'ledger' }])
  })

  it('a new key that somebody else has named: by who has signed nothing', async () => {
    const { file, anchors, open } = sealed()
    const store = await open()
    const to = await newKeyFile(join(temporaryFolder(), 'next.pem'))
    const { key } = await store.audit.rotateKey({ signer, to })
    expect(await problemsIn(store, { anchors, key })).toEqual([])
    await store.close()
    const db = new DatabaseSync(file)
    const { position, data } = db
      .prepare(`SELECT position, data FROM events WHERE type = 'HeadsSealed' ORDER BY position DESC LIMIT 1`)
      .get() as { position: number; data: string }
    const batch = JSON.parse(data) as { checkpoint: string }
    // Without the line of the new key.
    const checkpoint = batch.checkpoint.replace(/[^\n]+\n$/, '')
    db.prepare('UPDATE events SET data = ? WHERE position = ?').run(
      JSON.stringify({ ...batch, checkpoint }),
      position,
    )
    db.close()
    expect(await problemsIn(await open(), { anchors })).toEqual([{ kind: 'ledger' }])
  })

  it('but for what happened since it was sealed last', async () => {
    const { file, anchors, open } = sealed()
    const store = await open()
    await store.conversation('parser').append({ role: 'user', content: 'Thanks.' })
    await store.close()
    rewritten(
      file,
      inData(11, (data) => ({ ...data, content: text('No thanks.') })),
    )
    const again = await open()
    expect(await problemsIn(again, { anchors })).toEqual([])
    await again.audit.seal({ signer, anchors })
    expect(await problemsIn(again, { anchors })).toEqual([])
  })
})
