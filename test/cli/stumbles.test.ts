import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { run } from '../../src/cli/run.ts'
import { inDirectory, type Ran, shell } from './palimpsest.ts'

const ran = (command: string): Promise<Ran> =>
  inDirectory(async (directory) => {
    await shell('palimpsest append c --role user --text One', directory)
    await shell('palimpsest append c --role assistant --text Two', directory)
    return shell(`palimpsest ${command}`, directory)
  })

describe('a message says what to do next', () => {
  test.each([
    ['show elsewhere', 'there is no conversation elsewhere in this store: palimpsest list shows all'],
    ['fork c c', 'conversation c already exists: choose another id'],
    [
      'import examples/sessions/claude-code.jsonl --format roo',
      'If the file is not in the format roo, leave --format out',
    ],
    ['audit init > /dev/null; palimpsest audit init', 'the store already has the ledger'],
    ['retry c', 'no step of c is parked or waits after a failure: palimpsest steps lists the steps'],
    ['verify --store sqlite:none.db', 'none.db: check the path, or name another store with --store'],
    ['copy --from sqlite:none.db --to memory:', 'none.db: check the URL of --from'],
    ['list --store sqlite:none.db', 'none.db: import a session first (palimpsest import PATH)'],
    ['serve token list', 'is missing: create it with palimpsest serve token create'],
  ])('%s', async (command, said) => {
    const { stderr, code } = await ran(command)
    expect({ stderr, code }).toEqual({ stderr: expect.stringContaining(said), code: 1 })
  })

  test('record, with a client whose options it takes for its own', async () => {
    const { stderr, code } = await shell('palimpsest record claude -p "Fix it."', '.')
    expect({ stderr, code }).toEqual({
      stderr: expect.stringContaining('palimpsest record -- claude -p'),
      code: 2,
    })
  })

  test('say, in a conversation that nobody is answering', async () => {
    const { stdout } = await ran('append c --role user --text Three; palimpsest say c "And?"')
    expect(stdout).toContain('queued for c, which awaits the model or results')
  })
})

test.each([
  ['show', "missing required argument 'id': palimpsest list shows the ids"],
  ['rm c', "unknown command 'rm': nothing was deleted. palimpsest truncate hides messages from the model,"],
  ['remove c', "unknown command 'remove': nothing was deleted. palimpsest truncate"],
  ['help delete', "unknown command 'delete': nothing was deleted. palimpsest truncate"],
])('wrong usage says what to do next: %s', async (command, said) => {
  for (const json of ['', ' --json']) {
    const { stderr, code } = await ran(command + json)
    expect({ stderr, code }).toEqual({ stderr: expect.stringContaining(said), code: 2 })
    expect(stderr).not.toContain('Did you mean')
  }
})

test('link refuses the conversation itself, and says that a target is not in the store', async () => {
  const link = 'link c --relation continues --to'
  expect(await ran(`${link} c`)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('c is the conversation itself: give another one with --to') as string,
  })
  expect(await ran(`${link} gone`)).toMatchObject({ code: 0, stderr: 'note: gone is not in this store\n' })
})

test('condense says that nothing is left to hide before it asks for the summary', async () => {
  const { stderr, code } = await ran('condense c --keep-last 4')
  expect({ stderr, code }).toEqual({ stderr: expect.stringContaining('has nothing left to hide'), code: 1 })
})

test('-v prints the version', async () => {
  const { stdout } = await ran('-v')
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('a long message is not printed back in full', async () => {
  const { stdout } = await ran(`append c --role user --text "${'word '.repeat(1_000)}"; palimpsest log c`)
  const [confirmed = '', , , logged = ''] = stdout.split('\n')
  expect(confirmed).toMatch(/^ {4}2 .* word .*…$/)
  expect(confirmed.length).toBeLessThanOrEqual(200)
  expect(logged).toContain('word '.repeat(999))
})

test('an export of lines to a terminal is refused, unless it is asked for', () =>
  inDirectory(async (directory) => {
    await shell('palimpsest append c --role user --text One', directory)
    const exported = async (...args: readonly string[]) => {
      let [stdout, stderr] = ['', '']
      const terminal = (write: (text: string) => void) =>
        Object.assign(
          new Writable({ write: (chunk: Buffer, _, done) => (write(chunk.toString()), done()) }),
          { isTTY: true, columns: 80 },
        )
      const code = await run(
        ['--store', `sqlite:${join(directory, 'palimpsest.db')}`, 'export', 'c', ...args],
        {
          stdin: Readable.from([]),
          stdout: terminal((text) => (stdout += text)),
          stderr: terminal((text) => (stderr += text)),
          env: {},
        },
      )
      return { stdout, stderr, code }
    }
    for (const format of ['palimpsest', 'html'])
      expect(await exported('--format', format)).toEqual({
        stdout: '',
        stderr: expect.stringContaining(
          `format ${format} is for a file: --out FILE writes it, --out - prints it`,
        ),
        code: 2,
      })
    expect(await exported('--out', '-')).toMatchObject({
      stdout: expect.stringMatching(/^\{.*One.*\}\n$/),
      code: 0,
    })
    expect(await exported('--format', 'md')).toMatchObject({
      stdout: expect.stringContaining('One'),
      code: 0,
    })
    expect((await shell('palimpsest export c --out -', directory)).stdout).toMatch(/^\{.*One/)
  }))

test('search finds only what the model does not see, if asked', async () => {
  const { stdout } = await ran(
    'truncate c --covers 1..1; palimpsest search One; palimpsest search Two --hidden',
  )
  expect(stdout).toMatch(/\tshown\tOne\n/)
  expect((await ran('search Two --hidden')).stdout).toBe('')
  expect(stdout).toMatch(/\thidden by 2\tTwo\n/)
})

test('log takes the words of tail for the last events', async () => {
  for (const option of ['-n 1', '--tail 1', '--last 1'])
    expect((await ran(`log c ${option}`)).stdout).toMatch(/^ {4}1 .*Two\n$/)
})

test('the Markdown of a fork says what it has inherited', async () => {
  const { stdout } = await ran(
    'fork c d > /dev/null; palimpsest export d --format md; palimpsest export c --format md',
  )
  expect(stdout.match(/^Forked from c: everything up to position 1 is inherited\.$/gm)?.length).toBe(1)
})

test('log shows the path to a position', async () => {
  const { stdout } = await ran('rewind c --to 0; palimpsest log c --at 1')
  expect(stdout).toMatch(/Two\n$/)
})

describe('a session is named by the short form of its id', () => {
  const id = '6513270e-269e-4d37-b2a7-4de452e6b438'
  const session = `palimpsest append ${id} --role user --text One;`

  test('also by commands that begin a conversation under an unknown id', async () => {
    const { stdout, code } = await ran(
      `append d --role user --text Other; ${session} palimpsest append 6513270e --role assistant --text Two; palimpsest say 6513270e Three; palimpsest show ${id}`,
    )
    expect({ stdout, code }).toEqual({ stdout: expect.stringMatching(/One\n.*Two\n.*Three\n$/), code: 0 })
  })

  test.each(['show 6513271e', 'rewind 6513270f --to 0', 'say 6513720e Hi', 'pause 6513270e-269d'])(
    'and suggested if that is mistyped: %s',
    async (command) => {
      const { stderr, code } = await ran(`list; ${session} palimpsest ${command}`)
      expect({ stderr, code }).toEqual({ stderr: expect.stringContaining(`did you mean ${id}?`), code: 1 })
    },
  )

  test('but not by less, and not of an id that is no UUID', async () => {
    const { stdout } = await ran(
      `append d-12345678 --role user --text One; ${session} palimpsest append 6513 --new --role user --text New; palimpsest append d-123456 --role user --text New; palimpsest list --sort id | cut -f1`,
    )
    expect(stdout).toMatch(/\n6513\n6513270e-\S+\nc\nd-123456\nd-12345678\n$/)
  })
})

describe('show --position', () => {
  const long = 'word '.repeat(100).trim()

  test('prints one message with all of its text, also one that the model no longer sees', async () => {
    const { stdout } = await ran(
      `append c --role user --text "${long}"; palimpsest truncate c --covers 1..2; palimpsest show c --position 2`,
    )
    expect(stdout).toMatch(
      new RegExp(`## 2 · user · .*\n\n\\*No longer shown: truncated at 3\\.\\*\n\n${long}\n$`),
    )
    expect(JSON.parse((await ran('show c --position 1 --json')).stdout)).toMatchObject({
      conversation: 'c',
      entry: { position: 1, content: [{ text: 'Two' }] },
    })
  })

  test('says where every event is listed if the one at a position is neither a message nor a marker', async () => {
    const { stderr, code } = await ran('rewind c --to 0; palimpsest show c --position 2')
    expect(code).not.toBe(0)
    expect(stderr).toContain('no message or marker is at 2: palimpsest log c --all lists every event')
  })
})

describe('audit export', () => {
  test('withholds what a repeated option names, all of it, and reads positions in --redact with a note', async () => {
    const { stdout } = await ran('audit export c --withhold 0 --withhold 1-1 --out e')
    expect(stdout).toContain('withheld: 0, 1\n')
    const { stderr } = await ran('audit export c --withhold 0 --redact 1 --out former')
    expect(stderr).toContain('note: --redact 1 is read as --withhold 1')
    const { stdout: html } = await ran(`audit export c --format prov --redact 0 --redact 1 --out e.jsonld`)
    expect(html).toContain('withheld: 0, 1\n')
  })

  test('says that the last events are not sealed yet', async () => {
    const sealed = 'audit init > /dev/null && palimpsest audit seal > /dev/null;'
    const { stdout } = await ran(
      `${sealed} palimpsest audit export c --out e; palimpsest append c --role user --text Three > /dev/null; palimpsest audit export c --out f`,
    )
    expect(stdout).not.toMatch(/Wrote e: .*\n.*NOT PROVEN/)
    expect(stdout).toMatch(/Wrote f: .*\n {2}NOT PROVEN: the last event is not sealed yet/)
  })
})

test('audit verify refuses an option that it would ignore', async () => {
  const { stderr, code } = await ran('audit verify folder --anchor elsewhere/')
  expect({ stderr, code }).toEqual({
    stderr: expect.stringContaining('--anchor is for the store, not for folders'),
    code: 2,
  })
})

describe('small slips', () => {
  const session = 'examples/sessions/claude-code.jsonl'

  test('export --out writes what export prints, over an older file, and leaves no file behind if it fails', () =>
    inDirectory(async (directory) => {
      await shell('palimpsest append c --role user --text Hello.', directory)
      const { stdout } = await shell('palimpsest export c', directory)
      writeFileSync(join(directory, 'c.jsonl'), 'older and longer '.repeat(1_000))
      expect(await shell('palimpsest export c --out c.jsonl', directory)).toMatchObject({
        stdout: '',
        code: 0,
      })
      expect(readFileSync(join(directory, 'c.jsonl'), 'utf8')).toBe(stdout)
      expect((await shell('palimpsest export none --out none.jsonl', directory)).code).toBe(1)
      expect(existsSync(join(directory, 'none.jsonl'))).toBe(false)
      const refused = await shell('palimpsest export c --out none/c.jsonl', directory)
      expect(refused).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('none/c.jsonl cannot be written') as string,
      })
    }))

  test('log --last shows the last events of the path', () =>
    inDirectory(async (directory) => {
      for (const text of ['One.', 'Two.', 'Three.', 'Four.'])
        await shell(`palimpsest append c --role user --text ${text}`, directory)
      await shell('palimpsest rewind c --to 1', directory)
      const positions = async (options: string) => {
        const { stdout } = await shell(`palimpsest log c ${options} --json`, directory)
        const { entries } = JSON.parse(stdout) as { entries: { event: { position: number } }[] }
        return entries.map(({ event }) => event.position)
      }
      expect(await positions('--last 1')).toEqual([1])
      expect(await positions('--last 9')).toEqual([0, 1])
      expect(await positions('--last 2 --all')).toEqual([3, 4])
      expect((await shell('palimpsest log c --last 1', directory)).stdout).not.toContain('One.')
      expect((await shell('palimpsest log c --last 0', directory)).code).toBe(2)
    }))

  test('a mistyped choice is answered with the nearest one', () =>
    inDirectory(async (directory) => {
      await shell('palimpsest append c --role user --text Hello.', directory)
      const slips = [
        [`import ${session} --format claude-cod`, 'claude-code'],
        ['export c --format markdwn', 'markdown'],
        ['export c --format json', 'palimpsest'],
        ['append c --role usr --text x', 'user'],
        ['cost c --by modle', 'model'],
      ] as const
      for (const [slip, meant] of slips)
        for (const json of ['', ' --json'])
          expect(await shell(`palimpsest ${slip}${json}`, directory)).toMatchObject({
            code: 2,
            stderr: expect.stringContaining(`(Did you mean ${meant}?)`) as string,
          })
    }))

  test('a file that was changed says which messages were not taken; what is unchanged is counted once', () =>
    inDirectory(async (directory) => {
      mkdirSync(join(directory, 'all'))
      const text = readFileSync(session, 'utf8')
      writeFileSync(join(directory, 'all/a.jsonl'), text)
      await shell('palimpsest import all', directory)
      expect((await shell('palimpsest import all', directory)).stdout).toBe(
        '1 file: 1 conversation, 0 events added; 1 unchanged\n',
      )
      const changed = text.replace('The monthly statement is off', 'The statement is off')
      expect(changed).not.toBe(text)
      writeFileSync(join(directory, 'all/a.jsonl'), changed)
      for (const name of ['all', 'all/a.jsonl']) {
        const { stdout } = await shell(`palimpsest import ${name}`, directory)
        expect(stdout).toContain('nothing new')
        expect(stdout).toContain('changed: 1 message of the file differ')
      }
    }))

  test('a message that was erased is said to be erased, not changed', () =>
    inDirectory(async (directory) => {
      writeFileSync(join(directory, 'a.jsonl'), readFileSync(session, 'utf8'))
      await shell('palimpsest import a.jsonl --id a', directory)
      await shell('palimpsest erase a --positions 0 --yes', directory)
      const { stdout, code } = await shell('palimpsest import a.jsonl --id a', directory)
      expect(stdout).toContain('erased: 1 message of the file was erased here, and stays erased')
      expect(stdout).not.toContain('another conversation')
      expect(code).toBe(0)
    }))

  test.each(['--at 22', '--call p23'])(
    'request %s right after a compaction names the model before it',
    (of) =>
      inDirectory(async (directory) => {
        await shell(`palimpsest import ${session} --id a`, directory)
        const { stdout, stderr } = await shell(`palimpsest request a ${of}`, directory)
        expect(JSON.parse(stdout)).toMatchObject({ model: expect.stringMatching(/^claude-/) as string })
        expect(stderr).not.toMatch(/the log has no model/)
      }),
  )

  test('skipped lines of a broken chain are counted, and the import says that it is incomplete', () =>
    inDirectory(async (directory) => {
      for (let n = 0; n < 20; n++) await shell(`palimpsest append c --role user --text Text${n}`, directory)
      await shell('palimpsest export c --out c.jsonl', directory)
      const text = readFileSync(join(directory, 'c.jsonl'), 'utf8').replace('Text3', 'Text?')
      writeFileSync(join(directory, 'c.jsonl'), text)
      const { stdout, code } = await shell(
        'palimpsest --store sqlite:other.db import c.jsonl --skip-bad-lines',
        directory,
      )
      expect(code).toBe(1)
      expect(stdout).toMatch(/^c {2}4 events added/)
      expect(stdout.match(/skipped: line/g)).toHaveLength(10)
      expect(stdout).toContain('skipped: 6 more lines')
      expect(stdout).toContain('are not imported (16 lines skipped)')
    }))

  test('the title is what the user said, not the reminder of a hook before it', () =>
    inDirectory(async (directory) => {
      const reminder = '<system-reminder>Be careful.</system-reminder>'
      const append = (id: string, text: string) =>
        shell(`palimpsest append ${id} --role user --text "${text}"`, directory)
      await append('one', `${reminder} ${reminder} Fix it.`)
      await append('two', reminder)
      await append('two', 'Help me.')
      const { stdout } = await shell('palimpsest list --sort id', directory)
      expect(
        stdout
          .trim()
          .split('\n')
          .map((line) => line.split('\t')[4]),
      ).toEqual(['Fix it.', 'Help me.'])
    }))

  test('an undo of an undo is the redo', () =>
    inDirectory(async (directory) => {
      await shell('palimpsest append c --role user --text One.', directory)
      await shell('palimpsest append c --role user --text Two.', directory)
      await shell('palimpsest rewind c --to 0', directory)
      const rewound = await shell('palimpsest show c', directory)
      await shell('palimpsest undo c', directory)
      expect((await shell('palimpsest show c', directory)).stdout).toContain('Two.')
      await shell('palimpsest undo c', directory)
      expect(await shell('palimpsest show c', directory)).toEqual(rewound)
    }))
})

test('names that are close to what is meant are taken: md, the position of a reply, no id for every conversation', async () => {
  const { stdout: markdown } = await ran('export c --format md')
  expect(markdown).toMatch(/^# Conversation c\n/)
  const { stdout: why } = await ran('why c --call 1')
  expect(why).toMatch(/^call p1: the reply at 1/)
  const { stdout: cost } = await ran('cost; palimpsest cost --all')
  const [one, all] = [cost.slice(0, cost.length / 2), cost.slice(cost.length / 2)]
  expect(one).toMatch(/^c\t0\t.*\ntotal\t/)
  expect(all).toBe(one)
})

test('export takes a position in every format, and request --list says what to ask of a session without receipts', async () => {
  const at = await ran('export c --format md --at 0; palimpsest export c --at 0')
  expect(at).toMatchObject({ stderr: '', code: 0 })
  expect(at.stdout).toContain('One')
  expect(at.stdout).not.toContain('Two')
  const beyond = await ran('export c --format md --at 2')
  expect(beyond).toMatchObject({ stdout: '', stderr: expect.stringContaining('it has 0 to 1'), code: 1 })
  const list = await ran('request c --list')
  expect(list).toMatchObject({ stdout: '', code: 0 })
  expect(list.stderr).toContain('palimpsest request c --at N')
})

test.each([
  ['search two words', 'got 2. If they are one text, put a text of several words in quotes\n'],
  [
    'append c --role user --text two words',
    "error: put a text of several words in quotes: --text 'two words'\n",
  ],
])('words after a text without quotes: %s', async (command, said) => {
  expect(await ran(command)).toMatchObject({ stdout: '', stderr: expect.stringContaining(said), code: 2 })
})

test.each([
  [
    'diff c',
    'diff compares what the model sees at two positions of one conversation, such as palimpsest diff ID --from 4',
  ],
  ['diff c d --from 0', 'To see what a fork has changed: palimpsest diff FORK --from N'],
])('%s says what diff compares', async (command, said) => {
  const { stderr, code } = await ran(command)
  expect({ stderr, code }).toEqual({ stderr: expect.stringContaining(said), code: 2 })
  expect(stderr).not.toContain('in quotes')
})
