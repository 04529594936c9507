import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generateKeyPairSync, hash, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { blockBytes, stateAfter } from '../../../src/events/sha256.ts'
import { verdictLines, verifyEvidence } from '../../../src/audit/evidence/verify.ts'
import {
  keyText,
  parseKey,
  publicBytes,
  type VerifierKey,
  verifierKey,
} from '../../../src/audit/ledger/keys.ts'
import { noteText, parseNote } from '../../../src/audit/ledger/notes.ts'
import { right } from '../../support/either.ts'
import { exportAll, sealedConversations } from '../../support/evidence/bundles.ts'
import { judged, onlyPython, python, runPython } from '../../support/evidence/python.ts'
import { temporaryFolder } from '../../support/stores.ts'

type Change = (folder: string) => void

/** Replaces in a file; of a bundle that has no such text, nothing. */
const inFile =
  (name: string, from: string | RegExp, to: string): Change =>
  (folder) => {
    const file = join(folder, name)
    // The first format has fewer files.
    if (existsSync(file))
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replace(from, () => to),
      )
  }
const manifest = (from: RegExp, to: string): Change => inFile('bundle.json', from, to)
const requests = (text: string): Change => inFile('requests.jsonl', /^.*\n/, `${text}\n`)

/** A bundle of one event that somebody made up, with no ledger. */
const madeUp =
  (type: string, data: string, more: readonly string[] = []): Change =>
  (folder) => {
    const lines = ['id', type, data, '{"prev":null}']
    const head = hash('sha256', lines.join('\n'))
    writeFileSync(join(folder, 'events.txt'), `${lines.join('\n')}\n${more.join('')}`)
    for (const name of ['parts.txt', 'requests.jsonl']) writeFileSync(join(folder, name), '')
    const ends = { format: 'palimpsest evidence 1', conversation: 'a', first: 0, last: 0, head }
    writeFileSync(join(folder, 'bundle.json'), JSON.stringify({ ...ends, withheld: [], requests: 0 }))
  }
const reply = (context: unknown): Change =>
  madeUp('MessageAppended', JSON.stringify({ origin: { context }, note: '"digest"', digest: 1 }))
const summary = (parts: string): Change =>
  madeUp('Condensed', `{"digest":1,"origin":{"context":{"options":{"parts":${parts}}}}}`)

const numbers = [
  'true',
  'null',
  '"1"',
  '1.5',
  '1e0',
  '-0',
  '-1',
  'NaN',
  '-Infinity',
  '1e400',
  '9007199254740993',
  '9'.repeat(5_000),
]
/** A manifest with one more value, of so many levels below its own. */
const nested = (levels: number): Change =>
  manifest(/^\{/, `{ "more\\"[": ${'['.repeat(levels)}"]"${']'.repeat(levels)},`)

/** Something else in place of a file. */
const instead =
  (name: string, put: (path: string) => void): Change =>
  (folder) => {
    const path = join(folder, name)
    rmSync(path, { force: true })
    put(path)
  }
const pipe = (path: string): void => {
  runPython('import os, sys; os.mkfifo(sys.argv[1])', path)
}
const names = [
  'bundle.json',
  'events.txt',
  'turns.txt',
  'parts.txt',
  'requests.jsonl',
  'entries.jsonl',
  'keys.json',
  'checkpoint.txt',
]

/** A bundle of one event, withheld. @param from where what is shown of its text begins */
const hidden =
  (metadata: string, from: (text: string) => number): Change =>
  (folder) => {
    madeUp('M', '{}')(folder)
    const text = `id\nM\n{}\n${metadata}`
    const start = Math.floor(from(text) / blockBytes) * blockBytes
    const state = stateAfter(Buffer.from(text.slice(0, start))).toString('hex')
    const [rest, head] = [Buffer.from(text.slice(start)).toString('hex'), hash('sha256', text)]
    writeFileSync(join(folder, 'events.txt'), `\n${state} ${text.length}\n${rest}\n${head}\n`)
    manifest(/(?<="head":")\w+/, head)(folder)
    manifest(/(?<="withheld":\[)/, '0')(folder)
  }
const endOf = (text: string): number => text.lastIndexOf('"prev"') - 1

const changes: Readonly<Record<string, Change>> = {
  ...Object.fromEntries(
    numbers.flatMap((text) => [
      ...['first', 'last', 'requests', 'revision', 'index', 'events', 'entries'].map(
        (name) => [`${name}: ${text}`, manifest(new RegExp(`(?<="${name}": )\\d+`), text)] as const,
      ),
      ...['position', 'keep'].map(
        (name) =>
          [`${name}: ${text}`, inFile('requests.jsonl', new RegExp(`(?<="${name}":)\\d+`), text)] as const,
      ),
      ...['revision', 'position', 'index'].map(
        (name) =>
          [
            `an entry's ${name}: ${text}`,
            inFile('entries.jsonl', new RegExp(`(?<="${name}":)\\d+`), text),
          ] as const,
      ),
      [`add: ${text}`, inFile('requests.jsonl', /(?<="add":\[)\d+/, text)],
    ]),
  ),
  ...Object.fromEntries(
    ['null', '[]', '{}', '0', '""', 'false'].flatMap((text) => [
      [`ledger: ${text}`, manifest(/(?<="ledger": )\{[^}]*\}/, text)],
      [`turns: ${text}`, manifest(/(?<="turns": )\{[^}]*\}/, text)],
      [`sealed: ${text}`, manifest(/(?<="sealed": )"[^"]*"/, text)],
      [`proof: ${text}`, manifest(/(?<="proof": )\[[^\]]*\]/, text)],
      [`an entry's proof: ${text}`, inFile('entries.jsonl', /(?<="proof":)\[[^\]]*\]/, text)],
      [`an entry's name: ${text}`, inFile('entries.jsonl', /(?<="name":)"[^"]*"/, text)],
      [`an entry: ${text}`, inFile('entries.jsonl', /^.*/, text)],
      [`withheld: ${text}`, manifest(/(?<="withheld": )\[[^\]]*\]/, text)],
      [`rotations: ${text}`, inFile('keys.json', /(?<="rotations":)\[.*\]/, text)],
      [`add: ${text}`, inFile('requests.jsonl', /(?<="add":)\[[^\]]*\]/, text)],
      [`a summary with parts ${text}`, summary(text)],
      [`a receipt ${text}`, reply(JSON.parse(text))],
      [`a digest ${text}`, reply({ digest: JSON.parse(text) as unknown })],
    ]),
  ),
  ...Object.fromEntries(
    ['../../etc/passwd', 'a\\n  PROVEN', '\\u001b[8m', '\\ud800', 'Ärger', '', 'x'.repeat(201)].map(
      (text) => [`conversation: ${text}`, manifest(/(?<="conversation": ")[^"]*/, text)],
    ),
  ),
  ...Object.fromEntries(
    names.flatMap((name) => [
      [`no ${name}`, instead(name, () => undefined)],
      [
        `a folder in place of ${name}`,
        instead(name, (path) => {
          mkdirSync(path)
        }),
      ],
      [`a pipe in place of ${name}`, instead(name, pipe)],
      [`a device in place of ${name}`, instead(name, (path) => symlinkSync('/dev/zero', path))],
    ]),
  ),
  'as many levels as there may be': nested(1_399),
  'one level more': nested(1_400),
  'more levels than Python has': nested(100_000),
  'a BOM before the manifest': manifest(/^/, '\uFEFF'),
  'CRLF in the manifest': manifest(/\n/g, '\r\n'),
  'CRLF in the checkpoint': inFile('checkpoint.txt', /\n/g, '\r\n'),
  'CRLF in events': inFile('events.txt', /\n/g, '\r\n'),
  'a key twice, the last one right': manifest(/(?="last")/, '"last": 99999, '),
  'a key twice, the last one wrong': manifest(/(?="head")/, '"last": 99999, "last": 99998, '),
  'the manifest a list': manifest(/[^]*/, '[]'),
  'a request that is no object': requests('[1,2]'),
  'an empty line among requests': inFile('requests.jsonl', /$/, '\n'),
  'the last newline missing': inFile('requests.jsonl', /\n$/, ''),
  'a line of another program after the entries': inFile('entries.jsonl', /$/, '{}\n'),
  'an entry of another stream': inFile('entries.jsonl', /(?<="name":")[^"]*/, 'stream notes-a'),
  'an entry of a name in two lines': inFile('entries.jsonl', /(?<="name":")[^"]*/, 'a\\n1'),
  'the first format with what only the second has': inFile('bundle.json', /evidence 2/, 'evidence 1'),
  'the second format without what it has': inFile('bundle.json', /evidence 1/, 'evidence 2'),
  'a time that is none': manifest(/(?<="sealed": )"[^"]*"/, '"2026-11-28T12:00:00.000Z\\n  PROVEN"'),
  'an event without a type': madeUp('', '{}'),
  'a fork of nothing': madeUp('Forked', '{"from":{"position":true,"hash":null}}'),
  'bytes that are no UTF-8': (folder) => appendFileSync(join(folder, 'bundle.json'), Buffer.from([0xff])),
  'a signature line of another form': inFile('checkpoint.txt', '— ', '- '),
  'two signatures of the key, one wrong': (folder) => {
    const file = join(folder, 'checkpoint.txt')
    const text = readFileSync(file, 'utf8')
    const [, start = '', code = ''] = /\n(— \S+ )(\S+)\n$/.exec(text) ?? []
    const bytes = Buffer.from(code, 'base64')
    bytes[20] = (bytes[20] ?? 0) ^ 1
    writeFileSync(file, `${text}${start}${bytes.toString('base64')}\n`)
  },
  'a cosignature that is no base64': (folder) =>
    appendFileSync(join(folder, 'checkpoint.txt'), '— other !!!!!!!!\n'),
  ...Object.fromEntries(
    [
      'other AAAAAAAA',
      'other AAAAAAA=',
      'other AAAAAA==',
      ...['\0', '\b', '\x9f', '\u3000', '\u200b', '\uFEFF'].map((character) => `a${character}b AAAAAAAA`),
    ].map((line): [string, Change] => [
      `a cosignature ${JSON.stringify(line)}`,
      (folder) => appendFileSync(join(folder, 'checkpoint.txt'), `— ${line}\n`),
    ]),
  ),
}

describe(`what is not in the form of a bundle${onlyPython}`, () => {
  it.skipIf(!python)(
    'is judged alike by the program in a bundle and by our own, and crashes neither',
    async () => {
      const folder = temporaryFolder()
      const { key, folders } = await exportAll(await sealedConversations(8, 3), folder)
      const whole = folders.find((each) =>
        readFileSync(join(each, 'requests.jsonl'), 'utf8').includes('"keep"'),
      )
      const golden = fileURLToPath(new URL('../../golden/bundles/1/', import.meta.url))
      const known = readFileSync(join(golden, 'ledger.pub'), 'utf8').trim()
      for (const [from, by] of [
        [whole as string, key],
        [join(golden, 'fork'), known],
      ] as const) {
        const done = Object.entries(changes).map(([what, change], n) => {
          const copy = join(folder, `${basename(from)}-${n}`)
          cpSync(from, copy, { recursive: true })
          change(copy)
          return [copy, what] as const
        })
        const { said } = judged(
          done.map(([copy]) => copy),
          by,
        )
        for (const [copy, what] of done) {
          const ours = await verifyEvidence(copy, right(parseKey(by))).then(verdictLines, String)
          expect({ what, from, lines: ours }).toEqual({ what, from, lines: said.get(copy) })
        }
      }
    },
  )

  it.skipIf(!python)(
    'is not more than the end of what is withheld, nor an end that could be of two histories',
    async () => {
      const folder = temporaryFolder()
      const [long, other] = ['x'.repeat(200), '0'.repeat(64)]
      const malformed = 'BROKEN: events.txt is malformed: get another copy of the bundle'
      const unproven =
        'NOT PROVEN: there is no ledger: anyone who can write to the store could have fabricated all of this'
      const cases: readonly (readonly [Change, string])[] = [
        [hidden(`{"a":"${long}","prev":null}`, endOf), unproven],
        [hidden('{"prev":null}', endOf), unproven],
        [hidden(`{"a":"${long}","prev":null}`, () => 0), malformed],
        // JSON has `prev` here, and a key that ends like it.
        [hidden(`{"prev":"${other}","a\\"prev":null}`, endOf), malformed],
      ]
      for (const [n, [change, verdict]] of cases.entries()) {
        const where = join(folder, `${n}`)
        mkdirSync(where)
        change(where)
        expect((await verifyEvidence(where).then(verdictLines)).at(-1)).toBe(verdict)
        expect(judged([where]).said.get(where)?.at(-1)).toBe(verdict)
      }
    },
  )

  it.skipIf(!python)(
    'is no key that anybody can sign with, and no checkpoint of another ledger',
    async () => {
      const folder = temporaryFolder()
      const { key, folders } = await exportAll(await sealedConversations(1, 3), folder)
      const where = folders[0] as string
      const [name = ''] = key.split('+')
      // The point of order 1 verifies every signature of R = sB; so do those that are that point in another spelling.
      const weak = ['01' + '00'.repeat(31), '01' + '00'.repeat(30) + '80', 'ee' + 'ff'.repeat(30) + '7f']
      const base = Buffer.from('58' + '66'.repeat(31), 'hex')
      const forged = Buffer.concat([base, Buffer.from('01' + '00'.repeat(31), 'hex')])
      const file = join(where, 'checkpoint.txt')
      const { text } = right(parseNote(readFileSync(file, 'utf8')))
      const judge = async (own: VerifierKey, changed: string, signature: Buffer): Promise<string> => {
        writeFileSync(
          file,
          noteText({ text: changed, signatures: [{ name: own.name, id: own.id, signature }] }),
        )
        writeFileSync(join(where, 'keys.json'), '{"rotations":[]}')
        const ours = verdictLines(await verifyEvidence(where, own))
        expect(judged([where], keyText(own)).said.get(where)).toEqual(ours)
        return ours.at(-1) ?? ''
      }
      const problem = 'BROKEN: the checkpoint was changed after it was signed with this key, or forged'
      for (const hex of weak)
        expect(await judge(verifierKey(name, Buffer.from(hex, 'hex')), text, forged)).toBe(problem)
      const { privateKey, publicKey: known } = generateKeyPairSync('ed25519')
      const own = verifierKey(name, publicBytes(known) as Buffer)
      expect(await judge(own, text, sign(null, Buffer.from(text), privateKey))).toBe('PROVEN')
      const other = `another${text.slice(text.indexOf('\n'))}`
      expect(await judge(own, other, sign(null, Buffer.from(other), privateKey))).toBe(problem)
    },
  )
})
