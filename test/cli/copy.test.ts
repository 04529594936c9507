import { describe, expect, test } from 'vitest'
import { inDirectory, type Ran, shell } from './palimpsest.ts'

const setUp = 'palimpsest append a --role user --text Hi > /dev/null; palimpsest fork a b > /dev/null; '
const copy = 'palimpsest copy --from sqlite:palimpsest.db --to sqlite:other.db'
const after = (command: string): Promise<Ran> => inDirectory((directory) => shell(setUp + command, directory))

describe('palimpsest copy', () => {
  test('prints a line for each conversation: how many events the target has, and how many are new', async () => {
    const { stdout, stderr, code } = await after(`${copy} b; ${copy}`)
    expect(stdout).toBe('a\t1\t1\tverified\nb\t1\t1\tverified\na\t1\t0\tverified\nb\t1\t0\tverified\n')
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
  })

  test('copies the others where one fails, tells of each failure, and ends with 1', async () => {
    const { stdout, stderr, code } = await after(
      `palimpsest append c --role user --text Hi > /dev/null; palimpsest append a --role user --text No --store sqlite:other.db > /dev/null; ${copy} x a c`,
    )
    expect(stdout).toBe('x\t0\t0\tFAILED\na\t0\t0\tFAILED\nc\t1\t1\tverified\n')
    expect(stderr).toMatch(
      /^error: there is no conversation x.*\nerror: the event at revision 0 of conversation a /,
    )
    expect(code).toBe(1)
  })

  test('with --json has the failures in its answer', async () => {
    const { stdout, stderr, code } = await after(`${copy} x a --json`)
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      conversations: [
        {
          id: 'x',
          events: 0,
          added: 0,
          error: expect.objectContaining({ _tag: 'ConversationNotFound', conversation: 'x' }),
        },
        { id: 'a', events: 1, added: 1 },
      ],
    })
    expect({ stderr, code }).toEqual({ stderr: '', code: 1 })
  })

  test('says what it erased in the target, and how the large content of that is removed', async () => {
    const { stdout, stderr } = await after(
      `palimpsest append a --role user --text ${'x'.repeat(100_000)} > /dev/null; ${copy} a; palimpsest erase a --yes > /dev/null; ${copy} a; ${copy} a --json`,
    )
    expect(stdout).toContain('a\t2\t2\tverified\na\t3\t1\tverified; erased: 2 events\n')
    expect(stderr).toContain(
      'not removed yet: 1 large content stored recently in the target, which no event has any more. Run palimpsest gc --older-than 1min --store sqlite:other.db in a minute\n',
    )
  })

  test('says that the ledger stays in the source', async () => {
    const { stdout, stderr } = await after(
      `palimpsest audit init --origin example.com/a > /dev/null; ${copy}; ${copy} --json`,
    )
    expect(stderr.match(/ledger example\.com\/a is not copied, .*palimpsest audit init/g)).toHaveLength(1)
    expect(stdout).toContain('{"ok":true,"ledger":"example.com/a","conversations":[')
  })

  test('advises no ledger for a target that has one', async () => {
    const { stderr } = await after(
      `palimpsest audit init --origin example.com/a > /dev/null; ${copy} > /dev/null 2>&1; palimpsest audit init --origin example.com/b --key b.key --store sqlite:other.db > /dev/null; ${copy}`,
    )
    expect(stderr).toBe('')
  })

  test('says which retention rules stay in the source, and the commands that set them in the target', async () => {
    const { stderr } = await after(
      `palimpsest retention --keep 12mo --for support- --by ann --reason "policy 7" > /dev/null; ${copy}; palimpsest retention --keep 12mo --for support- --by ann --store sqlite:other.db > /dev/null; ${copy}`,
    )
    expect(stderr).toBe(
      "1 retention rule of the source is not copied, because people set them for a store. To set it in the target:\n  palimpsest retention --keep 12mo --for support- --by ann --reason 'policy 7' --yes --store sqlite:other.db\n",
    )
  })

  test('names a retention rule that has another duration in the target', async () => {
    const { stderr } = await after(
      `palimpsest retention --keep 2y --for '' --by ann > /dev/null; ${copy} > /dev/null 2>&1; palimpsest retention --keep 1y --for '' --store sqlite:other.db > /dev/null; ${copy}`,
    )
    expect(stderr).toBe(
      "retention rule '': 24mo in the source, 12mo in the target, which stays. To set the rule of the source:\n  palimpsest retention --keep 24mo --for '' --by ann --yes --store sqlite:other.db\n",
    )
  })

  test('says once that the folder for the keys is missing, and nothing of rules for a target that is not there', async () => {
    const { stdout, stderr, code } = await after(
      `palimpsest retention --keep 2y --for '' > /dev/null; palimpsest copy --from sqlite:palimpsest.db --to 'sqlite:other.db?seal=k/keys.db'`,
    )
    expect(stdout).toBe('a\t0\t0\tFAILED\nb\t0\t0\tFAILED\n')
    expect(stderr).toMatch(/^error: .*there is no folder .*k: create it, or check the path\n$/)
    expect(code).toBe(1)
  })

  test('needs both stores, and a source that is there', async () => {
    const { stderr, code } = await after(
      'palimpsest copy --from sqlite:a.db --to sqlite:a.db; palimpsest copy --to memory:; palimpsest copy --from nonsense --to memory:; palimpsest copy --from sqlite:none.db --to memory:',
    )
    expect(stderr).toContain('error: the source and the target are the same store')
    expect(stderr).toContain("required option '--from <url>' not specified")
    expect(stderr).toContain('error: a store URL must be ')
    expect(stderr).toContain('error: there is no store at sqlite:none.db')
    expect(code).toBe(1)
  })
})
