import { describe, expect, test } from 'vitest'
import { inDirectory, type Ran, shell } from './palimpsest.ts'

const twin = 'billing-1b'
const begun = ['parser-5f3a', 'billing-1a', twin]
  .flatMap((id) => ['user', 'assistant'].map((role) => `palimpsest append ${id} --role ${role} --text Hello`))
  .join('; ')

const ran = (command: string): Promise<Ran> =>
  inDirectory(async (directory) => {
    await shell(begun, directory)
    return shell(`palimpsest ${command}`, directory)
  })

/** Commands that take the id of a conversation, without `append` and `say`, which may begin one. */
const commands = [
  'show ID',
  'show ID --full',
  'log ID',
  'diff ID --from 0',
  'request ID',
  'stats ID',
  'search Hel --in ID',
  'condense ID --covers 0..0 --summary S',
  'truncate ID --covers 0..0',
  'rewind ID --to 0',
  'fork ID copy',
  'configure ID --model m',
  'note ID --kind title --text T',
  'link ID --relation continues --ref monday.md',
  'link billing-1a --relation continues --to ID',
  'waiting ID',
  'waiting ID --queued',
  'cancel ID',
  'cost ID',
  'cache ID',
  'pause ID',
  'resume ID',
  'export ID',
  'verify ID',
  'copy ID --from sqlite:palimpsest.db --to memory:',
  'audit export ID --out evidence',
]

describe('an id is', () => {
  const isWriting = (command: string): boolean =>
    /^(condense|truncate|rewind|configure|note|link|cancel|pause|resume) /.test(command)

  test.each(commands)('shortened in %s', async (command) => {
    const beginning = isWriting(command) ? 'parser-5' : 'p'
    expect(await ran(command.replace('ID', beginning))).toMatchObject({ code: 0 })
  })

  test.each(commands.filter(isWriting))(
    'refused in %s, which writes, if it has fewer than 8 characters and is not whole',
    async (command) => {
      const { stderr, code } = await ran(command.replace('ID', 'parser-'))
      expect({ stderr, code }).toEqual({
        stderr: expect.stringContaining(
          'parser- is too short to write to parser-5f3a: type at least 8 characters of the id',
        ),
        code: 1,
      })
    },
  )

  test.each(['show PARS', 'rewind Parser-5 --to 0', 'note C --kind title --text T'])(
    'the same in capitals, unless there is one in capitals: %s',
    async (command) => {
      expect(await ran(`say c Hi; palimpsest ${command}`)).toMatchObject({ code: 0 })
      const { stdout } = await ran(
        'append PARSER-1 --role user --text Loud; palimpsest show PARS; palimpsest append cC --role user --text Both; palimpsest show CC',
      )
      expect(stdout).toMatch(/Loud\n.*Loud\n.*Both\n.*Both\n$/s)
    },
  )

  test.each(commands)('refused in %s if several ids begin like this, which are listed', async (command) => {
    const { stderr, code } = await ran(command.replace('ID', 'billing-'))
    expect({ stderr, code }).toEqual({
      stderr: expect.stringContaining('several conversation ids begin with billing-: billing-1a, billing-1b'),
      code: 1,
    })
  })

  const refusing = commands.filter((command) => !command.includes('--to ID'))
  test.each(refusing)('suggested in %s if it is wrong', async (command) => {
    const { stderr, code } = await ran(command.replace('ID', 'parser-5f3b'))
    expect({ stderr, code }).toEqual({
      stderr: expect.stringContaining('did you mean parser-5f3a?'),
      code: 1,
    })
  })

  test.each([
    'say pars Hello.',
    'say parser-5f3a2 Hello. --new',
    'say billng-1a Hello.',
    'say Billing-1A Hello.',
    'say parser5f3a Hello.',
  ])('whole in append and say, which suggest an existing one that it resembles: %s', async (command) => {
    const { stdout, stderr, code } = await ran(command)
    if (command.includes('--new')) expect(stdout).toBe('recorded in parser-5f3a2, at position 0\n')
    else
      expect({ stderr, code }).toEqual({
        stderr: expect.stringMatching(
          /did you mean (parser-5f3a|billing-1a|billing-1b)\? To begin \S+, add --new/,
        ),
        code: 1,
      })
  })

  test('whole in append and say, which begin one that is like no other, the next of a series, or what --new names', async () => {
    const given = [
      'say invoices --text Hello.',
      'say billing-2 Hello.',
      'append pars --new --role user --text Hello',
    ]
    const { stdout, code } = await ran(given.join('; palimpsest '))
    expect(code).toBe(0)
    expect(stdout).toMatch(/^recorded in invoices, at position 0\nrecorded in billing-2, at position 0\n/)
    expect((await ran('say pars One --text Two')).code).toBe(2)
  })

  test('that of a subagent, shortened in both parts', async () => {
    const id = '6513270e-269e-4d37-b2a7-4de452e6b438:a7be2f0'
    const { stdout } = await ran(
      `append ${id} --role user --text Agent; palimpsest show 6513270e:a7b; palimpsest say 6513270e:a7b On`,
    )
    expect(stdout).toMatch(/Agent\n.*Agent\nrecorded in|Agent\n.*Agent\nqueued for 6513270e-/s)
  })

  test('whole where it begins others, too', async () => {
    const { stdout } = await ran(`fork ${twin} ${twin}2; palimpsest show ${twin}`)
    expect(stdout).toContain('Hello')
  })
})

describe('undo', () => {
  test('says what it undid, and a second one takes that back', async () => {
    const { stdout } = await ran(
      'truncate parser-5 --covers 0..0; palimpsest undo parser-5; palimpsest undo parser-5; palimpsest undo parser-5 --json',
    )
    const [, undone, redone, json = ''] = stdout.split('\n')
    expect(undone).toMatch(/^ {4}3 .* rewound .* undid 2: truncated +hides 1 message/)
    expect(redone).toMatch(/^ {4}4 .* rewound .* undid 3: rewound +to 1/)
    expect(JSON.parse(json)).toMatchObject({ position: 5, undid: { position: 4, type: 'Rewound' } })
  })
})
