import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { spawnSync } from 'node:child_process'
import { openStore } from '../../../src/index.ts'
import { newKeyFile } from '../../../src/audit.ts'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verdictLines, verifyEvidence } from '../../../src/audit/evidence/verify.ts'
import { keyText, parseKey, publicBytes, verifierKey } from '../../../src/audit/ledger/keys.ts'
import { shell } from '../../cli/palimpsest.ts'
import { right } from '../../support/either.ts'
import { exportAll, sealedConversations } from '../../support/evidence/bundles.ts'
import { judged, onlyPython, python, script } from '../../support/evidence/python.ts'
import { temporaryFolder } from '../../support/stores.ts'

let made = ''
let key = ''

const outer = mkdtempSync(join(tmpdir(), 'palimpsest-'))
beforeAll(async () => {
  const exported = await exportAll(await sealedConversations(1, 3), outer)
  key = exported.key
  made = exported.folders[0] as string
})
afterAll(() => rmSync(outer, { recursive: true }))

/** A copy of a bundle. */
const copied = (): string => {
  const folder = join(temporaryFolder(), 'evidence')
  cpSync(made, folder, { recursive: true })
  return folder
}

const withEnds = (folder: string, names: readonly string[]): string => {
  for (const name of names) {
    const file = join(folder, name)
    writeFileSync(file, readFileSync(file, 'latin1').replaceAll('\n', '\r\n'), 'latin1')
  }
  return folder
}

const inFolder = (path: string): string => {
  const parent = temporaryFolder()
  renameSync(path, join(parent, basename(path)))
  return parent
}

const without = (name: string): string => {
  const folder = copied()
  rmSync(join(folder, name))
  return folder
}

const withFormat = (format: string): string => {
  const folder = copied()
  const file = join(folder, 'bundle.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/palimpsest evidence \d+/, format))
  return folder
}

/** What somebody may name who has a bundle, and how it is answered. */
const mistakes: Readonly<Record<string, readonly [make: () => string, problem: RegExp]>> = {
  'a path that is not there': [() => join(temporaryFolder(), 'evidense'), /^there is no such folder$/],
  'an archive that was not unpacked': [
    () => {
      const file = join(temporaryFolder(), 'evidence.zip')
      writeFileSync(file, 'PK\u0003\u0004')
      return file
    },
    /^this is a file: unpack it/,
  ],
  'the manifest in place of its folder': [() => join(copied(), 'bundle.json'), /^this is a file/],
  'the folder that the bundle is in': [
    () => inFolder(copied()),
    /^there is no bundle\.json: name one of the folders in it$/,
  ],
  'a folder with something else': [
    () => {
      const folder = temporaryFolder()
      mkdirSync(join(folder, 'empty'))
      writeFileSync(join(folder, 'file'), '')
      return folder
    },
    /^there is no bundle\.json: this is not a bundle$/,
  ],
  'a bundle that lost its manifest': [
    () => without('bundle.json'),
    /^there is no bundle\.json: the bundle is incomplete, get another copy$/,
  ],
  'all line ends converted': [
    () => {
      const folder = copied()
      return withEnds(folder, readdirSync(folder))
    },
    /^events\.txt has lines that end in CR LF/,
  ],
  'the line ends of the events converted': [
    () => withEnds(copied(), ['events.txt']),
    /^events\.txt has lines that end in CR LF/,
  ],
  'the line ends of the checkpoint converted': [
    () => withEnds(copied(), ['checkpoint.txt']),
    /^checkpoint\.txt has lines that end in CR LF/,
  ],
  'a newer format': [
    () => withFormat('palimpsest evidence 99'),
    /^this is palimpsest evidence 99: get a newer verify\.py$/,
  ],
}

describe(`what somebody got wrong is not checked, and never called broken${onlyPython}`, () => {
  it.each(Object.entries(mistakes))('%s', async (_, [make, problem]) => {
    const folder = make()
    const ours = await verifyEvidence(folder, right(parseKey(key)))
    expect(ours).toEqual({
      verdict: 'unchecked',
      found: [],
      problem: expect.stringMatching(problem) as string,
    })
    if (!python) return
    const { status, said } = judged([folder], key)
    expect(said.get(folder)).toEqual(verdictLines(ours))
    expect(status).toBe(2)
  })

  it.each(['another.example/log', 'example.com/ledger'])('the key of another ledger: %s', async (name) => {
    const { publicKey } = generateKeyPairSync('ed25519')
    const other = verifierKey(name, publicBytes(publicKey) as Buffer)
    const ours = await verifyEvidence(made, other)
    expect(ours).toMatchObject({ verdict: 'unchecked' })
    expect(ours.problem).toContain(`not signed by key ${other.id} of ${name}`)
    if (!python) return
    const { status, said } = judged([made], keyText(other))
    expect(said.get(made)).toEqual(verdictLines(ours))
    expect(status).toBe(2)
  })

  it.each([
    ['bundle.json', 'in half', /^bundle\.json contains invalid JSON: get another copy of the bundle$/],
    ['bundle.json', 'other JSON', /^bundle\.json is malformed: get another copy of the bundle$/],
    ['events.txt', 'no JSON', /^events\.txt contains invalid JSON/],
    ['requests.jsonl', 'no JSON', /^requests\.jsonl contains invalid JSON/],
    ['entries.jsonl', 'no JSON', /^entries\.jsonl contains invalid JSON/],
    ['entries.jsonl', 'other JSON', /^entries\.jsonl is malformed/],
    ['entries.jsonl', 'missing', /^there is no entries\.jsonl/],
    ['keys.json', 'in half', /^keys\.json contains invalid JSON/],
    ['keys.json', 'other JSON', /^keys\.json is malformed/],
    ['checkpoint.txt', 'in half', /^checkpoint\.txt is malformed/],
  ])('a damaged file is named: %s, %s', async (name, damage, problem) => {
    const folder = damage === 'missing' ? without(name) : copied()
    const file = join(folder, name)
    if (damage === 'in half') truncateSync(file, Math.floor(statSync(file).size / 2))
    if (damage === 'other JSON') {
      const text = readFileSync(file, 'utf8')
      writeFileSync(file, name.endsWith('.jsonl') ? text.replaceAll(/^.+$/gm, '{"a":1}') : '{"a":1}\n')
    }
    if (damage === 'no JSON') writeFileSync(file, 'a\nb\nc\n{\n')
    const ours = await verifyEvidence(folder, right(parseKey(key)))
    expect(ours).toMatchObject({ verdict: 'broken', problem: expect.stringMatching(problem) as string })
    if (python) expect(judged([folder], key).said.get(folder)).toEqual(verdictLines(ours))
  })

  it('the command line answers the same, with exit code 2, or 1 if another bundle is broken', async () => {
    const folder = temporaryFolder()
    const verify = (...names: readonly string[]) =>
      shell(`palimpsest audit verify ${names.join(' ')} --key ${key}`, folder)
    const none = join(folder, 'none')
    expect(await verify(none, made)).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('NOT CHECKED: there is no such folder') as string,
    })
    const broken = copied()
    writeFileSync(join(broken, 'events.txt'), 'a\n')
    expect(await verify(broken, none)).toMatchObject({ code: 1 })
    expect(await verify(none, broken)).toMatchObject({ code: 1 })
    if (python) expect(judged([none, broken], key).status).toBe(1)
  })

  it('a format that is none is broken, as no program of ours ever wrote it', async () => {
    for (const format of ['palimpsest evidence 0', 'palimpsest evidence 1.1', 'something else']) {
      const folder = withFormat(format)
      const ours = await verifyEvidence(folder)
      expect(ours).toMatchObject({ verdict: 'broken' })
      if (python) expect(judged([folder]).said.get(folder)).toEqual(verdictLines(ours))
    }
  })
})

describe(`what is proven can be read${onlyPython}`, () => {
  const printed = (of: string, known: string): string => {
    const args = ['-I', '-B', script, of, '--print', '--key', known]
    return spawnSync(python as string, args, { encoding: 'utf8' }).stdout
  }
  const shown = async (of: string, known?: string) =>
    shell(`palimpsest audit show ${of}${known === undefined ? '' : ` --key ${known}`}`, outer)

  it('by the command line, and by the program in the bundle, in the same lines', async () => {
    const { key: known, folders } = await exportAll(await sealedConversations(12, 7), join(outer, 'shown'))
    let decisions = 0
    for (const of of folders) {
      const { code, stdout } = await shown(of, known)
      expect(code).toBe(0)
      expect(stdout).toMatch(/^ {2}#0 /m)
      expect(stdout).toMatch(/\n {2}PROVEN\n$/)
      decisions += stdout.split(' CallDecided\n').length - 1
      if (python) expect(printed(of, known)).toBe(stdout)
    }
    expect(decisions).toBe(8)
  })

  it('but for what is newer than the ledger, or withheld, and nothing without a key', async () => {
    const store = await openStore('memory:')
    const signer = await newKeyFile(join(outer, 'key.pem'))
    const { key: known } = await store.audit.init({ signer, origin: 'example.com/shown' })
    const chat = store.conversation('a')
    await chat.append([
      { role: 'user', content: 'One.\n\u001b[2J\u202eTwo.' },
      { role: 'assistant', content: 'HIDDEN words of mine' },
    ])
    await store.audit.seal({ signer })
    await chat.append({ role: 'user', content: 'NEWER' })
    const of = join(outer, 'newer')
    const ledger = await store.audit.proof('a', { compare: true })
    await chat.evidence({ folder: of, ledger, withhold: [1] })
    await store.close()
    const { code, stdout } = await shown(of, known)
    expect(code).toBe(1)
    expect(stdout).toMatch(
      / {2}#0 \S+ MessageAppended user\n {6}One\.\n {6}\ufffd\[2J\ufffdTwo\.\n {2}#1 withheld\n {2}NOT PROVEN/,
    )
    expect(stdout).not.toMatch(/HIDDEN|NEWER/)
    if (python) expect(printed(of, known)).toBe(stdout)
    expect((await shown(of)).stdout).not.toContain('One.')
    expect(await shown(join(outer, 'none'), known)).toMatchObject({ code: 2 })
  })
})

describe(`bundles of 0.1.0${onlyPython}`, () => {
  const golden = fileURLToPath(new URL('../../golden/bundles/1/', import.meta.url))
  const known = readFileSync(join(golden, 'ledger.pub'), 'utf8').trim()
  it.each([
    ['plain', 'PROVEN'],
    ['fork', 'PROVEN'],
    ['redacted', 'PROVEN, APART FROM WHAT IS LEFT OUT'],
  ])('are what they were, for ever: %s', async (name, verdict) => {
    const folder = join(golden, name)
    const ours = verdictLines(await verifyEvidence(folder, right(parseKey(known))))
    expect(ours.at(-1)).toBe(verdict)
    if (python) expect(judged([folder], known).said.get(folder)).toEqual(ours)
  })
})
