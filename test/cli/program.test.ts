import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { inDirectory, program, type Ran, shell } from './palimpsest.ts'

const setUp = 'palimpsest start > /dev/null'
const sample = '6513270e-269e-4d37-b2a7-4de452e6b438'

const started = <A>(work: (directory: string) => Promise<A>): Promise<A> =>
  inDirectory(async (directory) => {
    await shell(setUp, directory)
    return work(directory)
  })
const after = (command: string, env?: Readonly<Record<string, string>>): Promise<Ran> =>
  started((directory) => shell(command, directory, env))

/** Changes the store behind the program's back. */
const sql = (directory: string, statement: string): void => {
  const database = new DatabaseSync(join(directory, 'palimpsest.db'))
  database.exec(statement)
  database.close()
}

/** The commands that `start` prints. */
const typed = (stdout: string): readonly string[] =>
  [...stdout.matchAll(/npx palimpsest .*? {2}/g)].map(([command]) => command)

/** Runs commands that `start` printed, one after another. */
const works = async (commands: readonly string[], directory: string): Promise<void> => {
  for (const command of commands)
    expect(await shell(command, directory)).toMatchObject({ stderr: '', code: 0 })
}

test('a server that does not answer is named while it is waited for, without credentials', () =>
  inDirectory(async (directory) => {
    const url = 'esdb://dana:s3cret@127.0.0.1:1?tls=false&patience=4000'
    const { stderr, code } = await shell(`palimpsest list --store "${url}"`, directory)
    const [first, ...rest] = stderr.trim().split('\n')
    expect(first).toBe('waiting for esdb://…@127.0.0.1:1?tls=false&patience=4000')
    expect(rest.join()).toContain('error: ')
    expect(code).toBe(1)
  }))

/** The keys of what a command answers with --json, and of the first of a list in it. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.keys(value).toSorted()
}

const topKeys: Readonly<Record<string, readonly string[]>> = {
  list: ['conversations'],
  [`log ${sample} --all`]: ['conversation', 'entries', 'isMeasured', 'tokens', 'unrecorded'],
  [`show ${sample}`]: ['at', 'conversation', 'isMeasured', 'items', 'tokens', 'unrecorded'],
  [`show ${sample} --full`]: ['at', 'conversation', 'entries'],
  [`request ${sample}`]: ['awaits', 'messages', 'repairs'],
  [`diff ${sample} --from 4 --to 22`]: ['changes', 'conversation', 'from', 'to'],
  [`append ${sample} --role user --text x`]: ['conversation', 'events', 'position'],
  [`truncate ${sample} --keep-last 2`]: ['conversation', 'events', 'position'],
  [`undo ${sample}`]: ['conversation', 'events', 'position', 'undid'],
  [`fork ${sample} copy`]: ['conversation', 'from'],
  [`export ${sample} --format anthropic`]: ['messages', 'model'],
  [`export ${sample} --format markdown`]: ['conversation', 'markdown'],
  verify: ['conversations', 'ok'],
  'copy --from sqlite:palimpsest.db --to memory:': ['conversations', 'ok'],
  [`stats ${sample}`]: [
    'abandoned',
    'branches',
    'conversation',
    'events',
    'hidden',
    'last',
    'messages',
    'shown',
    'started',
    'tokens',
    'tools',
    'updated',
  ],
  'import examples/sessions/pi.jsonl': ['imported'],
  start: ['conversation', 'entries', 'full', 'imported'],
}

describe('--json', () => {
  test('every command answers with one JSON value of the documented shape', async () => {
    const commands = Object.keys(topKeys)
    const { stdout, stderr } = await after(
      commands.map((command) => `palimpsest ${command} --json`).join('; '),
    )
    expect(stderr).toBe('')
    const answers = stdout
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    expect(answers.map(shapeOf)).toEqual(Object.values(topKeys))
  })

  test('an error is JSON on the standard error, with nothing on the standard output', async () => {
    const { stdout, stderr, code } = await after(`palimpsest show ${sample} --at 999 --json`)
    expect({ stdout, code }).toEqual({ stdout: '', code: 1 })
    expect(JSON.parse(stderr)).toEqual({
      error: {
        _tag: 'OutOfRange',
        message: `conversation ${sample} has no position 999; it has 0 to 33`,
        conversation: sample,
        position: 999,
        last: 33,
      },
    })
  })
})

describe('the program', () => {
  test('a command that is refused for what it names creates no store', async () => {
    const { stdout, stderr, files } = await inDirectory(async (directory) => {
      await writeFile(join(directory, 'a.txt'), '\n')
      const commands = [
        'append "b d" --role user --text Hi',
        'append t --role user --text Hi --after 3',
        'import a.txt --id "b d"',
        'import a.txt a.txt --id t',
        'import gone.jsonl',
      ]
      const ran = await shell(commands.map((command) => `palimpsest ${command}`).join('; '), directory)
      return { ...ran, files: await readdir(directory) }
    })
    expect({ stdout, files, errors: stderr.split('\n').map((line) => line.slice(0, 40)) }).toEqual({
      stdout: '',
      files: ['a.txt', 'examples'],
      errors: [
        'error: a conversation id has 1 to 200 ch',
        'error: there is no store at sqlite:palim',
        'error: a conversation id has 1 to 200 ch',
        'error: --id names one conversation: impo',
        'error: gone.jsonl cannot be read (it doe',
        '',
      ],
    })
  })

  test('a command that fails before it writes anything leaves no store', async () => {
    const session = await readFile(new URL('../../examples/sessions/claude-code.jsonl', import.meta.url))
    const torn = session.subarray(0, 3_000)
    await inDirectory(async (directory) => {
      const files = {
        'torn.jsonl': torn,
        'codex.jsonl': JSON.stringify({
          timestamp: '2025-01-01T00:00:00Z',
          type: 'session_meta',
          payload: { id: 'x' },
        }),
      }
      for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content)
      await shell('palimpsest append f --role user --text x --store sqlite:full.db', directory)
      const there = await readdir(directory)
      for (const command of [
        'import codex.jsonl',
        'import torn.jsonl gone.jsonl',
        'start torn.jsonl',
        'append t --role user --file gone.txt',
        'copy t --from sqlite:full.db --to sqlite:palimpsest.db',
        'copy --from sqlite:none.db --to sqlite:palimpsest.db',
        'backup palimpsest.db --store sqlite:none.db',
      ]) {
        const { code } = await shell(`palimpsest ${command}`, directory)
        expect({ command, code, files: await readdir(directory) }).toEqual({ command, code: 1, files: there })
      }
      // Ctrl-C while it waits for more to read.
      const child = spawn(process.execPath, [await program(), 'import', '-'], { cwd: directory })
      child.stdin.write(torn)
      await sleep(500)
      child.kill('SIGINT')
      await once(child, 'close')
      expect(await readdir(directory)).toEqual(there)
    })
  })

  test('a store that cannot grow, not even to its tables, is the fault of the disk', async () => {
    const { stderr, code } = await inDirectory((directory) =>
      shell('ulimit -f 20; palimpsest append a --role user --text Hello', directory),
    )
    expect({ stderr, code }).toMatchObject({ stderr: expect.stringContaining('the disk'), code: 1 })
  })

  test('a second start finds the session, and adds nothing', async () => {
    const { stdout } = await after('palimpsest start; palimpsest list')
    expect(stdout).toContain(`Found session ${sample} in sqlite:palimpsest.db`)
    expect(stdout).toMatch(/\t32\t34\t/)
  })

  test('the commands that start prints work as they are typed', async () => {
    await started(async (directory) => {
      const commands = typed((await shell('palimpsest start', directory)).stdout)
      expect(commands).toHaveLength(3)
      await works(commands, directory)
    })
  })

  test('start takes a session file, and goes on with the store that is named', async () => {
    const { stdout, files } = await inDirectory(async (directory) => ({
      ...(await shell('palimpsest start examples/sessions/roo.json --store sqlite:other.db', directory)),
      files: await readdir(directory),
    }))
    expect(stdout).toContain('Imported the roo session ')
    expect(stdout).toMatch(/npx palimpsest show .* --store sqlite:other\.db/)
    expect(files.filter((name) => name.endsWith('.db'))).toEqual(['other.db'])
  })

  test('PALIMPSEST_STORE names the store', async () => {
    const { stderr } = await after('palimpsest list --json', { PALIMPSEST_STORE: 'sqlite:none.db' })
    expect(stderr).toContain('there is no store at sqlite:none.db')
  })

  test('verify ends with 1 where something was changed behind its back', async () => {
    const { stdout, code } = await started((directory) => {
      sql(directory, "UPDATE events SET data = replace(data, 'cent', 'euro') WHERE revision = 0")
      return shell('palimpsest verify; palimpsest verify --json', directory)
    })
    expect(code).toBe(1)
    expect(stdout).toContain('CHANGED')
    expect(stdout).toMatch(/^1 conversation, \d+ events?: 1 CHANGED$/m)
    expect(stdout).toContain('"ok":false')
  })

  test('append says how the text is given when it is not an option', async () => {
    const { stderr, code } = await after(`palimpsest append ${sample} --role user "Hello there"`)
    expect({ stderr, code }).toEqual({
      stderr: 'error: the text of the message is given with --text\n(see --help for usage)\n',
      code: 2,
    })
  })

  test('one conversation that cannot be read is no obstacle to the others', async () => {
    await started(async (directory) => {
      await shell(`palimpsest fork ${sample} orphan`, directory)
      sql(
        directory,
        "DELETE FROM events WHERE stream = (SELECT id FROM streams WHERE name LIKE 'conversation-6513270e%')",
      )
      await works(['palimpsest append other --role user --text Hi', 'palimpsest show oth'], directory)
      const listed = (await shell('palimpsest list', directory)).stdout
      expect(listed).toMatch(/^orphan\t.+/m)
      expect(listed).toMatch(/^other\t.*\tHi\tworking\t/m)
      await works(['palimpsest start examples/sessions/pi.jsonl'], directory)
      const { stdout, code } = await shell('palimpsest verify', directory)
      expect(code).toBe(1)
      expect(stdout).toMatch(/^(CHANGED|UNREADABLE) +orphan/m)
      expect(stdout).toMatch(/^ok +other/m)
      expect(stdout).toMatch(/\n3 conversations, 24 events: 1 DAMAGED, 1 UNREADABLE\n$/)
    })
  })

  test('search says what keeps it from finding everything, in a pipe too', async () => {
    const { stdout, stderr, code } = await started(async (directory) => {
      sql(directory, "UPDATE events SET data = '{' WHERE revision = 5")
      return shell(`palimpsest search cent --in ${sample}`, directory)
    })
    expect(stdout).toContain('\tshown\t')
    expect({ stderr, code }).toEqual({
      stderr: expect.stringMatching(/^event 5 of .* cannot be read: .*\n$/),
      code: 1,
    })
  })

  test('a store whose name a shell would take apart is quoted in what start prints', async () => {
    await inDirectory(async (directory) => {
      const url = 'sqlite:my store.db?synchronous=off&timeout=100'
      const { stdout } = await shell(`palimpsest start --store '${url}'`, directory)
      const commands = typed(stdout)
      expect(commands).toHaveLength(3)
      // By a real shell, which takes the words apart.
      const { stderr, code } = await shell(`set -e\n${commands.join('\n')}\n`, directory)
      expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
      expect((await readdir(directory)).filter((name) => name.endsWith('.db'))).toEqual(['my store.db'])
    })
  })

  test('start shows both ends of a long conversation, and says which of several it is', async () => {
    const { stdout } = await inDirectory(async (directory) => {
      const messages = Array.from({ length: 60 }, (_, n) => ({ role: 'user', content: `m${n}` }))
      await writeFile(join(directory, 'long.json'), JSON.stringify({ messages }))
      await works(['palimpsest import long.json --id one', 'palimpsest fork one two'], directory)
      const both = await shell('palimpsest export two', directory)
      await writeFile(join(directory, 'both.jsonl'), both.stdout)
      return shell('palimpsest start both.jsonl --store sqlite:b.db', directory)
    })
    for (const line of [
      'This is the first of 2 conversations in the file: npx palimpsest list --store sqlite:b.db',
      '       ⋮ 30 more: npx palimpsest log one --all --store sqlite:b.db',
      '       ⋮ 30 more: npx palimpsest show one --store sqlite:b.db',
      '   59  user       m59',
    ])
      expect(stdout.split('\n')).toContain(line)
  })

  test('on an older Node one line says which is needed', async () => {
    const { stderr, code } = await inDirectory((directory) =>
      shell(
        `"$NODE" --import 'data:text/javascript,Object.defineProperty(process,"version",{value:"v20.19.0"})' "$ROOT/bin/palimpsest.js" list`,
        directory,
      ),
    )
    expect(stderr).toBe('palimpsest needs Node 22.18 or newer; this is v20.19.0: upgrade Node\n')
    expect(code).toBe(1)
  })

  test('the help of a group of commands has no headings of others', async () => {
    const { stdout } = await inDirectory((directory) => shell('palimpsest audit --help', directory))
    expect(stdout.match(/^\w.*:$/gm)).toEqual(['Options:', 'Global Options:', 'Commands:', 'Examples:'])
    const { stdout: token } = await shell('palimpsest serve token --help', '.')
    expect(token).toContain('--store')
    expect(token).not.toContain('--port')
  })

  test('the help is one screen: first steps, then the name of every command', async () => {
    const { stdout } = await shell('palimpsest --help', '.')
    const lines = stdout.trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(24)
    expect(lines.filter(({ length }) => length > 80)).toEqual([])
    expect(stdout.indexOf('palimpsest start')).toBeLessThan(stdout.indexOf('Commands:'))
    const { stdout: all } = await shell('palimpsest help --all', '.')
    const described = [...all.matchAll(/^ {2}([a-z]+) .*(?:<|\[|the )/gm)].map(([, name = '']) => name)
    const [, named = ''] = stdout.split('Commands:')
    expect(described.length).toBeGreaterThan(35)
    for (const name of described.filter((each) => each !== 'help'))
      expect(named).toMatch(new RegExp(`\\b${name}\\b`))
  })

  test('help describes a command of a group, and suggests the nearest of a wrong name', async () => {
    const { stdout } = await shell('palimpsest help audit export', '.')
    expect(stdout).toMatch(/^Usage: palimpsest audit export /)
    expect(await shell('palimpsest help bakup', '.')).toMatchObject({
      stderr: expect.stringContaining('Did you mean backup?'),
      code: 2,
    })
  })

  test('every command has help with examples in 80 columns, and the commands in the examples exist', async () => {
    const { stdout: help, code } = await after('palimpsest help --all')
    expect(code).toBe(0)
    const names = [...help.matchAll(/^ {2}([a-z]+) .*(?:<|\[|the )/gm)].map(([, name]) => name)
    expect(names).toContain('condense')
    const { stdout: all } = await after(names.map((name) => `palimpsest ${name} --help`).join('; '))
    const named = [...all.matchAll(/^ {2}palimpsest ([a-z]+)/gm)].map(([, name]) => name)
    expect(named.length).toBeGreaterThan(10)
    for (const name of named) expect(names).toContain(name)
    const helps = all.split(/^(?=Usage: )/m)
    expect(helps).toHaveLength(names.length)
    for (const one of helps) expect(one).toMatch(/^Examples?:\n {2}\S/m)
    expect(all.split('\n').filter(({ length }) => length > 80)).toEqual([])
  })
})

describe('the body of a request', () => {
  const post = (url: string, body: string): Promise<Response> =>
    fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'key', 'anthropic-version': '2023-06-01' },
      body,
    })

  test('is accepted by the API as it is; standard error has what is not in it', () =>
    inDirectory(async (directory) => {
      const model = 'claude-opus-5-5'
      const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
      const chat = store.conversation('c')
      const parameters = { max_tokens: 9, betas: ['one-2026', 'two-2026'] }
      await chat.configure({
        model,
        system: 'Be brief.',
        tools: [{ name: 'run', input_schema: { type: 'object' } }],
        parameters,
      })
      await chat.append({ role: 'user', content: 'Look.' })
      await chat.append({
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'a', name: 'run', input: {} }],
      })
      await chat.append({ role: 'user', content: 'And now?' })
      await store.close()
      const api = await messagesApi({
        apiKey: 'key',
        reply: () => ({ content: [{ type: 'text', text: 'Yes.' }] }),
      })
      try {
        for (const command of ['request c', 'export c --format anthropic']) {
          const { stdout, stderr } = await shell(`palimpsest ${command}`, directory)
          const answer = await post(api.url, stdout)
          expect([answer.status, JSON.parse(stdout)]).toMatchObject([200, { model, max_tokens: 9 }])
          expect(stderr).toBe(
            'repairs: 1 call-answered, 1 roles-merged\nsend the header anthropic-beta: one-2026,two-2026\n',
          )
        }
        const { stdout, stderr } = await shell('palimpsest request c --json', directory)
        expect(stderr).toBe('')
        expect((await post(api.url, stdout)).status).toBe(400)
      } finally {
        await api.close()
      }
    }))

  test('names the model of the last reply; required fields that the log lacks are on standard error', async () => {
    const { stdout, stderr } = await after(
      [
        `request ${sample}`,
        'append new --role user --text Hi',
        'request new',
        'rewind new --to -1',
        'request new',
      ]
        .map((command) => `palimpsest ${command}`)
        .join('; '),
    )
    expect(JSON.parse(stdout.slice(0, stdout.indexOf('\n}\n') + 2))).toHaveProperty('model')
    const lacks = (id: string, names: string, example: string): string =>
      `the log has no ${names}: add to the body, or record with palimpsest configure ${id} ${example}`
    const both = lacks('new', 'model, max_tokens', `--model MODEL --parameters '{"max_tokens": 8192}'`)
    expect(stderr.trimEnd().split('\n')).toEqual([
      'repairs: 1 roles-merged, 1 tools-unknown',
      lacks(sample, 'max_tokens', `--parameters '{"max_tokens": 8192}'`),
      both,
      'there is nothing to send: append a message first',
      both,
    ])
  })
})
