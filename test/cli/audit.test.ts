import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { writeStatus } from '../../src/cli/audit/write-output.ts'
import { outputOn } from '../../src/cli/output.ts'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import type { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { newKeyFile, parseKey, witnessAnchor } from '../../src/audit.ts'
import { openStore } from '../../src/index.ts'
import { right } from '../support/either.ts'
import { node } from '../support/node.ts'
import { answering, authority, hasOpenssl, onlyOpenssl } from '../support/timestamp-authority.ts'
import { witness } from '../support/witness.ts'
import { inDirectory, program, shell } from './palimpsest.ts'

const root = new URL('../..', import.meta.url).pathname
const source = (name: string): string => new URL(`../../src/${name}.ts`, import.meta.url).href

/** The first line with this on the standard error of a process, which is ended if there is none for a minute. */
const lineOf = async (child: ChildProcess, text: string): Promise<string> => {
  const patience = setTimeout(() => child.kill('SIGKILL'), 300_000)
  try {
    for await (const line of createInterface(child.stderr as Readable)) if (line.includes(text)) return line
    return ''
  } finally {
    clearTimeout(patience)
  }
}

const begin =
  'palimpsest append a --role user --text Hello. > a.txt; palimpsest audit init > key.txt; palimpsest audit seal --anchor seen.txt > sealed.txt'

describe('serve --seal', () => {
  test('serves with a sealer and a patrol beside, and ends when it is told to', () =>
    inDirectory(async (directory) => {
      await shell(begin, directory)
      const db = new DatabaseSync(join(directory, 'palimpsest.db'))
      db.exec(`UPDATE events SET data = replace(data, 'Hello', 'Jello')`)
      db.close()
      const args = [
        'serve',
        '--port',
        '0',
        '--json',
        '--seal',
        'palimpsest-audit.key',
        '--patrol',
        '--anchor',
        'seen.txt',
      ]
      const child = spawn(node, [await program(), ...args], {
        cwd: directory,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const ended = once(child, 'exit')
      const listening = once(createInterface(child.stdout), 'line')
      try {
        await listening
        expect(await lineOf(child, '"audit":"alarm"')).toContain('differs from what was sealed')
      } finally {
        child.kill('SIGTERM')
      }
      expect(await ended).toEqual([0, null])
    }))

  test('ends, with its patrol, if its key was replaced', () =>
    inDirectory(async (directory) => {
      await shell(`${begin}; palimpsest audit rotate-key next.key`, directory)
      const args = ['serve', '--port', '0', '--json', '--seal', 'palimpsest-audit.key', '--patrol']
      const child = spawn(node, [await program(), ...args], {
        cwd: directory,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const ended = once(child, 'exit')
      const patience = setTimeout(() => child.kill('SIGKILL'), 300_000)
      try {
        expect(await lineOf(child, '"KeyMismatch"')).toContain('was replaced')
        expect(await ended).toEqual([1, null])
      } finally {
        clearTimeout(patience)
        child.kill('SIGKILL')
      }
    }))

  test('serves and works on, and says so, if an anchor has seen more than the store has', () =>
    inDirectory(async (directory) => {
      await shell(`${begin}; palimpsest backup old.db > b.txt`, directory)
      await shell(
        'palimpsest append b --role user --text Hello. > b.txt; palimpsest audit seal --anchor seen.txt > c.txt',
        directory,
      )
      const args = ['--store', 'sqlite:old.db', '--seal', 'palimpsest-audit.key', '--anchor', 'seen.txt']
      writeFileSync(join(directory, 'agent.mjs'), 'export default () => ({})')
      for (const command of [
        ['serve', '--port', '0', '--json'],
        ['work', 'agent.mjs'],
      ]) {
        const child = spawn(node, [await program(), ...command, ...args], {
          cwd: directory,
          stdio: ['ignore', 'pipe', 'pipe'],
        })
        const ended = once(child, 'exit')
        const lines = createInterface(child.stdout)
        const begun = once(lines, 'line')
        try {
          const failed = await lineOf(child, '"audit":"failed"')
          expect(failed).toContain('seen.txt has seen 2 entries of this ledger, and the store has 1')
          if (command[0] === 'serve') {
            const [line] = (await begun) as [string]
            const { url } = JSON.parse(line) as { url: string }
            const ready = await fetch(`${url}/readyz`)
            const metrics = await (await fetch(`${url}/metrics`)).text()
            expect(metrics).toContain('\npalimpsest_warnings 1\n')
            expect([ready.status, await ready.json()]).toEqual([
              200,
              {
                status: 'ready',
                warnings: [expect.stringContaining('nothing is sealed: seen.txt has seen 2')],
              },
            ])
          }
        } finally {
          child.kill('SIGTERM')
        }
        expect(await ended).toEqual([0, null])
      }
      // What is said by `backup --restore`.
      const again =
        "palimpsest audit init --key new.key --again 'restored old.db' --force --store sqlite:old.db"
      const seal = 'palimpsest audit seal --key new.key --anchor seen.txt --store sqlite:old.db'
      expect(await shell(`${again} > n.txt; ${seal}`, directory)).toMatchObject({ code: 0 })
    }))
})

test('audit status says that an anchor prevents sealing', () =>
  inDirectory(async (directory) => {
    await shell(`${begin}; palimpsest backup old.db`, directory)
    const well = await shell('palimpsest audit status', directory)
    expect([well.code, well.stdout]).toEqual([0, expect.not.stringContaining('blocked')])
    await shell(
      'palimpsest append b --role user --text Hello.; palimpsest audit seal --anchor seen.txt',
      directory,
    )
    for (const anchor of ['', '--anchor seen.txt']) {
      const { code, stdout } = await shell(
        `palimpsest audit status --store sqlite:old.db ${anchor}`,
        directory,
      )
      expect(stdout).toMatch(/^anchor {4}seen\.txt was given 1 entry,/m)
      expect(stdout).toMatch(/^sealing {3}blocked: seen\.txt has seen 2 entries .* and the store has 1: /m)
      expect(stdout).toMatch(/^exposure {2}unknown, as sealing is blocked$/m)
      expect(code).toBe(1)
    }
    const doctor = await shell('palimpsest doctor --store sqlite:old.db', directory)
    expect(doctor.stdout).toMatch(/^problem\tledger\tsealing is blocked: seen\.txt has seen 2 entries /m)
    expect(doctor.code).toBe(1)
  }))

test('the recipe for another ledger works as it is pasted, more than once', () =>
  inDirectory(async (directory) => {
    const [, recipe = ''] =
      /```sh\n(key=audit-[^`]*)```/.exec(readFileSync(join(root, 'docs/operating.md'), 'utf8')) ?? []
    const pasted = recipe.replace('PLACE', 'seen.txt')
    await shell(begin, directory)
    const nextSecond = 'while [ -e "audit-$(date +%FT%H%M%S).key" ]; do sleep 0.1; done'
    const { code, stderr, stdout } = await shell(
      `set -e\n${pasted}\n${nextSecond}\n${pasted}\npalimpsest audit seal --key "$key" --anchor seen.txt`,
      directory,
    )
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.match(/^\/.*\/audit-.*\.key$/gm)).toHaveLength(2)
    const exists = await shell('palimpsest audit init --again lost --force', directory)
    expect(exists.stderr).toContain(
      'palimpsest-audit.key exists, and a key is never overwritten: name a new file (palimpsest audit init --key audit-$(date',
    )
  }))

test('audit verify of a store with nothing sealed says that it proves nothing', () =>
  inDirectory(async (directory) => {
    await shell(
      'palimpsest append a --role user --text Hello. > a.txt; palimpsest audit init > key.txt',
      directory,
    )
    const { stdout, code } = await shell('palimpsest audit verify', directory)
    expect(stdout).toContain('nothing is sealed, so nothing is proven: palimpsest audit seal')
    expect(code).toBe(1)
    const json = await shell('palimpsest audit verify --json', directory)
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, entries: 0, problems: [] })
    expect(json.code).toBe(1)
  }))

test('the verifier key is printed again, and a signing key is not taken for it', () =>
  inDirectory(async (directory) => {
    const says = (command: string) => shell(`palimpsest ${command}`, directory)
    await says('append a --role user --text Hello. > a.txt')
    // The store has no ledger, and therefore nobody has a key.
    for (const command of ['seal', 'rotate-key new.key', 'key'])
      expect((await says(`audit ${command}`)).stderr).toContain(
        'has no ledger: begin one with palimpsest audit init',
      )
    const { stdout: key } = await says('audit init')
    const again = await says('audit init')
    expect(again).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(key.trim()) as string,
    })
    expect(await says('audit key')).toMatchObject({ code: 0, stdout: key })
    const { stdout: next } = await says('audit rotate-key next.key')
    expect((await says('audit seal')).stderr).toContain('Name the file of that key with --key')
    expect((await says('audit verify --since yesterday')).stderr).toMatch(
      /^error: --since: must be the checkpoint/,
    )
    expect((await says('audit key')).stdout).toBe(next)
    expect((await says('audit verify --key next.key')).stderr).toContain('next.key is a signing key')
  }))

test('audit seal says that it has created the folder of an anchor, once', () =>
  inDirectory(async (directory) => {
    const says = (command: string) => shell(`palimpsest ${command}`, directory)
    await says('append a --role user --text Hello. > a.txt; palimpsest audit init > key.txt')
    const { stdout, code } = await says('audit seal --anchor disk/')
    expect({ stdout, code }).toEqual({
      stdout: expect.stringContaining(
        'in a folder that did not exist: check that its disk is mounted',
      ) as string,
      code: 0,
    })
    expect((await says('audit seal --anchor file:disk/')).stdout).toMatch(/disk\/ {2}has the checkpoint\n$/)
    const missing = await says('audit seal --anchor elsewhere/a.txt')
    expect(missing.stdout).toContain('cannot be written (its folder does not exist: create or mount it)')
  }))

test('audit verify takes the key that is known as text, or from a file', () =>
  inDirectory(async (directory) => {
    await shell(begin, directory)
    for (const key of ['key.txt', '"$(cat key.txt)"'])
      expect(await shell(`palimpsest audit verify --key ${key}`, directory)).toMatchObject({ code: 0 })
    const { code, stderr } = await shell('palimpsest audit verify --key sealed.txt', directory)
    expect(code).toBe(2)
    expect(stderr).toContain('must be a verifier key')
    for (const folder of ['', ' .'])
      expect(await shell(`palimpsest audit verify${folder} --key .`, directory)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('--key . is a folder') as string,
      })
  }))

test('audit verify says which witnesses have signed the checkpoint of a bundle', () =>
  inDirectory(async (directory) => {
    const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
    const signer = await newKeyFile(join(directory, 'own.key'))
    const { key } = await store.audit.init({ signer })
    const [own, other] = [await witness(key), await witness(key)]
    await store.conversation('a').append({ role: 'user', content: 'Hello.' })
    const anchor = witnessAnchor({ url: own.url, key: right(parseKey(own.key)) })
    await store.audit.seal({ signer, anchors: [anchor] })
    await store.close()
    await shell('palimpsest audit export a --out e', directory)
    const verify = `palimpsest audit verify e --key ${key} --witness`
    expect(await shell(`${verify} ${own.key}`, directory)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/PROVEN\n {2}cosigned by \S+ at 20\S+Z\n$/) as string,
    })
    expect(await shell(`${verify} ${own.key} ${other.key}`, directory)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`  NOT COSIGNED by ${other.key}`) as string,
    })
    for (const wrong of [`${verify} ${key}`, `palimpsest audit verify --witness ${own.key}`])
      expect((await shell(wrong, directory)).code).toBe(2)
    // Nobody writes into the pipe.
    execFileSync('sh', ['-c', 'rm checkpoint.txt && mkfifo checkpoint.txt'], { cwd: join(directory, 'e') })
    expect(await shell(`${verify} ${own.key}`, directory)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('NOT COSIGNED') as string,
    })
  }))

test.skipIf(!hasOpenssl)(
  `audit seals with a timestamp, and verifies it in a bundle, as OpenSSL does by the README${onlyOpenssl}`,
  () =>
    inDirectory(async (directory) => {
      const own = await authority()
      for (const [name, pem] of Object.entries({ ca: own.ca, other: (await authority()).ca }))
        writeFileSync(join(directory, `${name}.pem`), pem)
      const url = await answering(own.reply)
      const anchor = `--anchor tsa:${url}#ca.pem`
      await shell('palimpsest append a --role user --text Hello. > a.txt', directory)
      await shell('palimpsest audit init > key.txt', directory)
      const name = url.replace('http://', '')
      expect(await shell(`palimpsest audit seal ${anchor}`, directory)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(
          `signed  ${name}  has signed the time of the checkpoint; it keeps no copy`,
        ) as string,
      })
      const status = await shell('palimpsest audit status', directory)
      expect(status.stdout).toContain(`${name} was given 1 entry`)
      expect(status.stdout).toContain(
        'none, according to this store: every event is sealed, and an anchor has seen the checkpoint',
      )
      expect(await shell(`palimpsest audit verify ${anchor}`, directory)).toMatchObject({ code: 0 })

      await shell('palimpsest audit export a --out e', directory)
      const verify = 'palimpsest audit verify e --key key.txt --tsa'
      expect(await shell(`${verify} ca.pem`, directory)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/PROVEN\n {2}timestamped by \S+tsr at 20\S+Z\n$/) as string,
      })
      expect(await shell(`${verify} ca.pem other.pem`, directory)).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('NO TIMESTAMP verified with other.pem') as string,
      })
      const readme = readFileSync(join(directory, 'e/README.md'), 'utf8')
      const lines = readme.slice(readme.indexOf('## Timestamp by')).match(/^ {4}.*$/gm) ?? []
      const by = await shell(`set -e; cd e; cp ../ca.pem .; ${lines.join('; ')}`, directory)
      expect(by.stdout).toContain('Verification: OK')
      expect(by.stdout).toMatch(/Time stamp: \w+ /)
      for (const wrong of [
        `${verify} key.txt`,
        'palimpsest audit verify --tsa ca.pem',
        'palimpsest audit seal --anchor tsa:https://tsa.example/',
        'palimpsest audit seal --anchor memory:',
        'palimpsest audit seal --anchor git:',
        'palimpsest audit seal --anchor ""',
      ])
        expect((await shell(wrong, directory)).code).toBe(2)
    }),
)

test('a ledger without events says that nothing is sealed, and that its store is new', () =>
  inDirectory(async (directory) => {
    const made = await shell('palimpsest audit init > key.txt', directory)
    expect(made.stderr).toBe('note: there was no store sqlite:palimpsest.db: created a new one\n')
    const { stdout } = await shell('palimpsest audit seal --anchor X/; palimpsest audit status', directory)
    expect(stdout).toContain('nothing to seal: the anchors were given no checkpoint')
    expect(stdout).toContain('exposure  none: nothing is sealed, because there are no events')
    const { stdout: findings } = await shell('palimpsest doctor', directory)
    expect(findings).toMatch(/^ok\tledger\tthe ledger \S+ has no entries yet/m)
    await shell('palimpsest append a --role user --text Hi', directory)
    const again = await shell('palimpsest audit init --key new.key --again lost --force', directory)
    expect(again).toMatchObject({ code: 0, stderr: '' })
  }))

test('a backup from before the key was replaced is named as an older copy', () =>
  inDirectory(async (directory) => {
    await shell(`${begin}; palimpsest backup old.db > b.txt`, directory)
    await shell(
      'palimpsest audit rotate-key next.key > c.txt; palimpsest append b --role user --text Hello. > e.txt; palimpsest audit seal --key next.key --anchor seen.txt > d.txt',
      directory,
    )
    const { stderr, code } = await shell(
      'palimpsest audit seal --store sqlite:old.db --anchor seen.txt',
      directory,
    )
    expect(stderr).toContain(
      'signed by a key that the store does not know, and the store has 1: it is an older copy',
    )
    expect(stderr).toContain('Restore the newest copy')
    expect(code).not.toBe(0)
  }))

test('an anchor that cannot be used is answered with what to write or run instead', () =>
  inDirectory(async (directory) => {
    await shell(begin, directory)
    const sealed = (place: string, env = {}) =>
      shell(`palimpsest audit seal --anchor ${place}`, directory, env)
    const bare = await sealed('elsewhere')
    expect(bare.stderr).toContain(
      'for a folder, write --anchor elsewhere/; for a file, --anchor elsewhere.txt',
    )
    expect(bare.code).toBe(2)
    expect(existsSync(join(directory, 'elsewhere'))).toBe(false)
    expect((await sealed('file:elsewhere')).code).toBe(0)
    expect((await sealed('elsewhere')).code).toBe(0)
    expect((await sealed('git:none')).stderr).toContain('create it with git init none')
    await shell('palimpsest audit verify --anchor sqlite:gone.db', directory)
    expect(existsSync(join(directory, 'gone.db'))).toBe(false)
  }))

test('an export with secrets names the positions to withhold, in a form that can be pasted', () =>
  inDirectory(async (directory) => {
    const secret = ['ghp', 'F3wJmZ8kQ2LrT6vXb0Yc9dNaEuHs1pGi4oRt'].join('_')
    for (const text of ['A.', secret, 'B.', secret])
      await shell(`palimpsest append a --role user --text "${text}"`, directory)
    const { stderr } = await shell('palimpsest audit export a --withhold 0 --out e', directory)
    expect(stderr).toContain(
      'Nothing was exported: leave them out with --withhold 0-1,3, or export anyway with --force',
    )
    const { code } = await shell('palimpsest audit export a --withhold 0-1,3 --out e', directory)
    expect(code).toBe(0)
  }))

test('serve --seal with a wrong key ends before it says anything', () =>
  inDirectory(async (directory) => {
    await shell(`${begin}; palimpsest audit init --store sqlite:other.db --key other.key`, directory)
    const { stdout, stderr, code } = await shell('palimpsest serve --port 0 --seal other.key', directory)
    expect([stdout, code]).toEqual(['', 1])
    expect(stderr).toContain('has never signed the ledger')
    const none = await shell('palimpsest serve --port 0 --seal other.key --store sqlite:new.db', directory)
    expect(none).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('has no ledger') as string,
    })
  }))

test('the refusal of a second ledger names a command that begins it', () =>
  inDirectory(async (directory) => {
    await shell(begin, directory)
    const advised = async (command: string): Promise<string> => {
      const { stderr } = await shell(command, directory)
      return /palimpsest audit init --key .* --force/.exec(stderr)?.[0] ?? ''
    }
    const command = await advised('palimpsest audit init')
    expect(await advised('palimpsest audit init --key new.key --again lost')).toBe(command)
    expect((await shell(command, directory)).code).toBe(0)
  }))

test('a forced export says that the chain is broken, in a ledger or not', () =>
  inDirectory(async (directory) => {
    await shell(
      'palimpsest append a --role user --text Hello.; palimpsest append a --role assistant --text Yes.',
      directory,
    )
    const db = new DatabaseSync(join(directory, 'palimpsest.db'))
    db.exec(`UPDATE events SET data = replace(data, 'Hello', 'Jello')`)
    db.close()
    const forced = 'FORCED: event 1 does not contain the hash of the event before it, so the bundle is BROKEN'
    expect((await shell('palimpsest audit export a --force --out e', directory)).stdout).toContain(forced)
    await shell('palimpsest audit init; palimpsest audit seal', directory)
    expect((await shell('palimpsest audit export a --force --out f', directory)).stdout).toContain(forced)
    const { stdout } = await shell('palimpsest audit export a --force --out g --json', directory)
    expect(JSON.parse(stdout)).toMatchObject({ bundles: [{ forced: ['chain'], broken: 1 }] })
  }))

test('an export names at most five events that repeat what is withheld, and all of them in one list', () =>
  inDirectory(async (directory) => {
    const text = 'My order is ACME-4711-XY.'
    for (let n = 0; n < 8; n++) await shell(`palimpsest append a --role user --text "${text}"`, directory)
    const { stdout } = await shell('palimpsest audit export a --withhold 0 --out e', directory)
    expect(stdout.match(/WARNING: \d repeats/g)).toHaveLength(5)
    expect(stdout).toContain('WARNING: 7 events may repeat what is left out')
    expect(stdout).toContain('--withhold 0..7\n')
    const listed = await shell('palimpsest export a --format md --withhold 0', directory)
    expect(listed.stderr).toContain('WARNING: 7 places repeat words that are left out')
    expect(listed.stderr).toContain('--withhold 1..7\n')
    const whole = await shell('palimpsest audit export a --withhold 0..7 --out f', directory)
    expect(whole.stdout).not.toContain('WARNING')
    const note = 'note: --redact: nothing matched, so nothing is redacted; patterns are case-sensitive\n'
    expect((await shell('palimpsest export a --format md --redact acme', directory)).stderr).toBe(note)
    expect((await shell('palimpsest export a --format md --redact ACME', directory)).stderr).not.toContain(
      note,
    )
    const vcon = 'palimpsest audit export a --format vcon --redact'
    expect((await shell(`${vcon} acme --out v.json`, directory)).stderr).toContain(note)
  }))

test('a forced export says what was overruled', () =>
  inDirectory(async (directory) => {
    const says = (command: string) => shell(`palimpsest audit export a --force ${command}`, directory)
    // Made up, and cut in two so that no scanner of this repository reports it.
    const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
    await shell(`palimpsest append a --role user --text ${secret} > a.txt; ${begin}`, directory)
    expect((await says('--out e')).stdout).toMatch(/\n {2}FORCED: the content has what looks like secrets\n$/)
    const db = new DatabaseSync(join(directory, 'palimpsest.db'))
    db.exec(`UPDATE events SET data = replace(data, 'Hello', 'Jello')`)
    db.close()
    expect((await says('--out f')).stdout).toContain('FORCED: the conversation contradicts the ledger')
    const vcon = await says('--out v.json --format vcon --json')
    expect(JSON.parse(vcon.stdout)).toMatchObject({ documents: [{ forced: ['secrets'] }] })
  }))

test('an export is recorded before anything is written, and one that is refused is not', () =>
  inDirectory(async (directory) => {
    const exported = async () =>
      (
        JSON.parse((await shell('palimpsest audit exports --json', directory)).stdout) as {
          exports: unknown[]
        }
      ).exports
    await shell('palimpsest append a --role user --text Hello. > a.txt', directory)
    expect((await shell('palimpsest audit export a none --out e', directory)).code).toBe(1)
    expect(await exported()).toEqual([])
    // The folder is not empty, there is no such call, and no such event.
    for (const refused of [
      '--out .',
      '--out e --calls 1',
      '--out e --withhold 9',
      '--out a.txt --format vcon',
    ])
      expect((await shell(`palimpsest audit export a ${refused}`, directory)).code).toBe(1)
    expect((await shell('palimpsest audit export a --out e --withhold 0-9', directory)).stderr).toContain(
      '--withhold: must',
    )
    expect(await exported()).toEqual([])
    const args = '--out e --by ann --reason "complaint 7" --withhold 0'
    expect((await shell(`palimpsest audit export a ${args}`, directory)).code).toBe(0)
    expect(await exported()).toMatchObject([
      { conversations: ['a'], format: 'bundle', by: 'ann', reason: 'complaint 7', withheld: [0] },
    ])
    const { stdout } = await shell('palimpsest audit export a --format vcon --out a.json', directory)
    expect(stdout).toBe('Wrote a.json: 1 event of a\n')
    expect(await exported()).toMatchObject([{ format: 'vcon' }, { format: 'bundle' }])
    const wrong = await shell('palimpsest audit export a --format prov --calls 1 --out b.json', directory)
    expect(wrong).toMatchObject({ code: 2 })
  }))

test('a key is kept where nobody knows whether the ledger was begun with it', () =>
  inDirectory(async (directory) => {
    const store = (tag: string): string => `
      import { registerStore } from '${source('index')}'
      import { memoryStore } from '${source('testing/index')}'
      const closed = async () => ({ _tag: 'Right', right: undefined })
      const error = { _tag: '${tag}', message: 'no answer', stream: 'ledger', events: [], store: 'x' }
      const store = { ...memoryStore(), close: () => closed, append: () => async () => ({ _tag: 'Left', left: error }) }
      registerStore('${tag.toLowerCase()}', () => async () => ({ _tag: 'Right', right: store }))`
    for (const [tag, isKept] of [
      ['OutcomeUnknown', true],
      ['StoreUnavailable', false],
    ] as const) {
      writeFileSync(join(directory, `${tag}.mjs`), store(tag))
      const scheme = tag.toLowerCase()
      const { code } = await shell(
        `palimpsest --import ${tag}.mjs audit init --key ${tag}.key --store ${scheme}:`,
        directory,
      )
      expect([code, existsSync(join(directory, `${tag}.key`))]).toEqual([1, isKept])
    }
  }))

test('a key, and what is exposed, are not cut on a narrow terminal', async () => {
  let text = ''
  const write = (chunk: Buffer, _: string, done: () => void) => ((text += String(chunk)), done())
  const screen = Object.assign(new Writable({ write }), { isTTY: true, columns: 60 })
  const key = `example.com/${'long'.repeat(20)}+1a2b3c4d+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k`
  await writeStatus(outputOn(screen), {
    origin: 'example.com/long',
    key,
    size: 0,
    anchors: [],
    unsealed: 2,
    exposedSince: 'beginning',
  })
  expect(text).toContain(key)
  expect(text.replaceAll(/\s+/g, ' ')).toContain('can rewrite all of it unnoticed (--anchor)')
  expect(text).not.toContain('…')
})
