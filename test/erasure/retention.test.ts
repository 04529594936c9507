import { once } from 'node:events'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, test } from 'vitest'
import { keepApplyingRetention } from '../../src/cli/retention-task.ts'
import { run } from '../../src/cli/run.ts'
import { whenApplied } from '../../src/cli/views/due-content.ts'
import { isHalfYear, periodBefore } from '../../src/events/retention-events.ts'
import { openStore, type Conversation, type Store } from '../../src/index.ts'
import { program, shell } from '../cli/palimpsest.ts'
import { atEnd } from '../support/at-end.ts'
import { opus, start } from '../support/messages-api/client.ts'
import { ended, endsWithTest, startHeard } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'

const by = 'ann'
const year = { months: 12 } as const
const user = (content: string) => ({ role: 'user' as const, content })

interface Scene {
  readonly folder: string
  readonly file: string
  readonly store: Store
}

const scene = async (): Promise<Scene> => {
  const folder = temporaryFolder()
  const file = join(folder, 'palimpsest.db')
  const store = await openStore(`sqlite:${file}`)
  atEnd(store.close)
  return { folder, file, store }
}

const monthsAgo = (months: number): Date => periodBefore({ months }, new Date())

/** A conversation with a message of 13 months ago and one of now. */
const aged = async (store: Store, id: string): Promise<Conversation> => {
  const chat = store.conversation(id)
  await chat.append(user(`Old words of ${id}.`), { now: monthsAgo(13) })
  await chat.append(user(`New words of ${id}.`))
  return chat
}

const textsOf = async (chat: Conversation): Promise<readonly unknown[]> =>
  (await chat.effective()).map((item) => (item.kind === 'message' ? item.content[0]?.['text'] : item.kind))
const isWhole = async (chat: Conversation): Promise<boolean> => !(await textsOf(chat)).includes('[erased]')

const streamId = (name: string): string => `(SELECT id FROM streams WHERE name = '${name}')`
const runs = streamId('retention-runs')

/** Records of the runs, as they are stored. */
const runsIn = ({ file }: Scene): readonly { readonly type: string; readonly data: unknown }[] => {
  const db = new DatabaseSync(file, { readOnly: true })
  const rows = db.prepare(`SELECT type, data FROM events WHERE stream = ${runs} ORDER BY revision`).all()
  db.close()
  return rows.map(({ type, data }) => ({ type: String(type), data: JSON.parse(String(data)) as unknown }))
}

describe('a period', () => {
  test.each([
    ['2026-08-31T10:00:00Z', { months: 6 }, '2026-02-28T10:00:00Z'],
    ['2026-08-28T10:00:00Z', { months: 6 }, '2026-02-28T10:00:00Z'],
    ['2024-08-30T10:00:00Z', { months: 6 }, '2024-02-29T10:00:00Z'],
    ['2024-02-29T10:00:00Z', { months: 12 }, '2023-02-28T10:00:00Z'],
    ['2026-01-15T10:00:00Z', { months: 13 }, '2024-12-15T10:00:00Z'],
    ['2026-03-01T10:00:00Z', { days: 1 }, '2026-02-28T10:00:00Z'],
  ])('before %s, of %j, begins at %s', (now, period, expected) => {
    expect(periodBefore(period, new Date(now))).toEqual(new Date(expected))
  })

  test('is half a year by the calendar, no matter when it begins', () => {
    for (let day = 0; day < 4 * 366; day++) {
      const now = new Date(Date.UTC(2023, 0, 1 + day))
      expect(periodBefore({ days: 184 }, now) <= periodBefore({ months: 6 }, now)).toBe(true)
    }
    expect([{ months: 6 }, { days: 184 }, { months: 5 }, { days: 183 }].map(isHalfYear)).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
})

describe('a rule', () => {
  it('has what is older erased, says who and why, and records the run', async () => {
    const given = await scene()
    const { store } = given
    const chat = await aged(store, 'support-1')
    const other = await aged(store, 'sales-1')
    await store.retention.set({ prefix: 'support-', keep: year, by, reason: 'policy 7' })
    const counts = {
      conversations: 1,
      events: 1,
      notes: 0,
      turns: 0,
      inbox: 0,
      contents: 0,
      moreSkipped: 0,
      isComplete: true,
    }
    const reported = { ...counts, matching: 1, files: 0, recent: 0 }
    const first = monthsAgo(13).toISOString().slice(0, 10)
    const erased = [
      {
        conversation: 'support-1',
        prefix: 'support-',
        events: 1,
        notes: 0,
        turns: 0,
        inbox: 0,
        file: false,
        first: expect.stringContaining(first) as string,
      },
    ]
    expect(await store.retention.apply({ dryRun: true })).toEqual({ ...reported, erased, skipped: [] })
    expect(await isWhole(chat)).toBe(true)
    expect(runsIn(given)).toEqual([])
    expect(await store.retention.apply({ by: 'cron' })).toEqual({ ...reported, erased, skipped: [] })
    expect(await textsOf(chat)).toEqual(['[erased]', 'New words of support-1.'])
    expect(await isWhole(other)).toBe(true)
    for await (const record of chat.events({ from: 2 }))
      expect(record).toMatchObject({
        type: 'Erased',
        data: { by, reason: 'retention of support-…: 12 months (policy 7)' },
      })
    expect((await chat.verify()).discrepancy).toBeUndefined()
    expect(runsIn(given)).toEqual([
      { type: 'RetentionRunBegun', data: { by: 'cron' } },
      { type: 'RetentionRunEnded', data: { ...counts, run: 0, skipped: [] } },
    ])
    expect(await store.retention.apply()).toMatchObject({ conversations: 0, events: 0 })
  })

  it('with the longest prefix decides', async () => {
    const { store } = await scene()
    const [one, two] = [await aged(store, 'a'), await aged(store, 'ab')]
    await store.retention.set({ prefix: '', keep: year, by })
    await store.retention.set({ prefix: 'ab', keep: { months: 24 }, by })
    await store.retention.apply()
    expect([await isWhole(one), await isWhole(two)]).toEqual([false, true])
    await store.retention.end({ prefix: 'ab', by })
    expect(await store.retention.apply()).toMatchObject({ conversations: 1 })
    expect(await isWhole(two)).toBe(false)
  })

  it('can be tried before it is set, and applied to some conversations only', async () => {
    const given = await scene()
    const { store } = given
    for (const id of ['a', 'ab', 'abc', 'z']) await aged(store, id)
    await store.retention.set({ prefix: 'abc', keep: year, by })
    const rule = { prefix: 'a', keep: year, by } as const
    const tried = await store.retention.apply({ dryRun: true, rule })
    expect(tried).toMatchObject({ matching: 2, conversations: 2, events: 2 })
    expect(tried.erased.map(({ conversation }) => conversation).toSorted()).toEqual(['a', 'ab'])
    const longer = { ...rule, prefix: 'abc', keep: { months: 24 } } as const
    expect(await store.retention.apply({ dryRun: true, rule: longer })).toMatchObject({
      matching: 1,
      conversations: 0,
    })
    expect(await store.retention.rules()).toMatchObject([{ prefix: 'abc', keep: year }])
    for (const [options, path] of [
      [{ rule }, 'rule'],
      [{ dryRun: true, rule: { ...rule, keep: { months: 5 } } }, 'keep'],
    ] as const)
      await expect(store.retention.apply(options)).rejects.toMatchObject({ _tag: 'InvalidInput', path })
    expect(runsIn(given)).toEqual([])
    await store.retention.set(rule)
    expect(await store.retention.apply({ conversations: ['ab', 'ab', 'z', 'no'] })).toMatchObject({
      matching: 1,
      conversations: 1,
      erased: [{ conversation: 'ab', prefix: 'a' }],
    })
    expect(await isWhole(store.conversation('a'))).toBe(true)
  })

  it('keeps to the day of the calendar', async () => {
    const { store } = await scene()
    const chat = store.conversation('c')
    const limit = monthsAgo(12).getTime()
    await chat.append(user('A minute too old.'), { now: new Date(limit - 60_000) })
    // As long as the test may take.
    await chat.append(user('Not yet.'), { now: new Date(limit + 600_000) })
    await store.retention.set({ prefix: '', keep: year, by })
    await store.retention.apply()
    expect(await textsOf(chat)).toEqual(['[erased]', 'Not yet.'])
  })

  it('is listed, replaced, and ended; a repeat writes nothing', async () => {
    const { store } = await scene()
    await store.retention.set({ prefix: 'b', keep: { days: 400 }, by })
    await store.retention.set({ prefix: '', keep: year, by })
    const since = (await store.retention.rules())[0]?.since
    await store.retention.set({ prefix: '', keep: year, by })
    expect(await store.retention.rules()).toEqual([
      { prefix: '', keep: year, by, since },
      { prefix: 'b', keep: { days: 400 }, by, since: expect.any(String) },
    ])
    await store.retention.set({ prefix: 'b', keep: { months: 7 }, by })
    await store.retention.end({ prefix: '', by })
    expect(await store.retention.rules()).toMatchObject([{ prefix: 'b', keep: { months: 7 } }])
    await expect(store.retention.end({ prefix: 'c', by })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      message: "prefix: has no rule of its own: there are rules for 'b'",
    })
  })

  it('that keeps less than six months needs force and a reason', async () => {
    const { store } = await scene()
    const short = { prefix: '', keep: { months: 5 }, by } as const
    const refused = { _tag: 'InvalidInput', path: 'keep', message: expect.stringContaining('26(6)') }
    await expect(store.retention.set(short)).rejects.toMatchObject(refused)
    await expect(store.retention.set({ ...short, keep: { days: 183 } })).rejects.toMatchObject(refused)
    await expect(store.retention.set({ ...short, force: true })).rejects.toMatchObject({ path: 'reason' })
    await expect(store.retention.set({ ...short, reason: 'No logs.' })).rejects.toMatchObject(refused)
    await store.retention.set({ ...short, force: true, reason: 'No logs.' })
    expect(await store.retention.rules()).toMatchObject([{ keep: { months: 5 }, reason: 'No logs.' }])
  })

  it.each([0, 1])('that was changed in the file is not applied: the event %i', async (revision) => {
    const { store, file } = await scene()
    await aged(store, 'c')
    await store.retention.set({ prefix: 'd', keep: { months: 24 }, by })
    await store.retention.set({ prefix: '', keep: { months: 24 }, by })
    // A store that is closed has recorded the ends of its streams.
    await store.close()
    const db = new DatabaseSync(file)
    const place = `stream = ${streamId('retention')} AND revision = ${revision}`
    db.exec(`UPDATE events SET data = replace(replace(data, '24', '12'), '"d"', '""') WHERE ${place}`)
    db.close()
    const again = await openStore(`sqlite:${file}`)
    atEnd(again.close)
    await expect(again.retention.apply()).rejects.toMatchObject({ _tag: 'StoreCorrupt' })
    expect(await isWhole(again.conversation('c'))).toBe(true)
  })
})

describe('a run', () => {
  it('skips the subagents of a conversation under a legal hold, and says whose they are', async () => {
    const { store } = await scene()
    const [held, subagent] = [await aged(store, 'held'), await aged(store, 'held:a')]
    await subagent.link({ relation: 'subagent-of', conversation: 'held' })
    await held.hold({ by: 'legal' })
    await store.retention.set({ prefix: 'held:', keep: year, by })
    const problem = expect.stringContaining('a subagent of held, which is under the legal hold of legal')
    const report = { conversations: 0, skipped: [{ conversation: 'held:a', problem }] }
    for (const dryRun of [true, false]) expect(await store.retention.apply({ dryRun })).toMatchObject(report)
    expect(await isWhole(subagent)).toBe(true)
  })

  it('skips conversations under a legal hold or with a call that a turn left open, and names them', async () => {
    const given = await scene()
    const { store } = given
    const [held, open, free] = [
      await aged(store, 'held'),
      await aged(store, 'open'),
      await aged(store, 'free'),
    ]
    await held.hold({ by: 'legal', reason: 'case 7' })
    await store.conversation('held-but-new').append(user('Hello.'))
    await store.conversation('held-but-new').hold({ by: 'legal' })
    const { client } = await start({
      reply: () => ({ content: [{ type: 'tool_use', id: 'c', name: 'rm', input: {} }] }),
    })
    const rm = { run: () => 'Removed.', approve: true }
    const tools = [{ name: 'rm', input_schema: { type: 'object' } }]
    await open.turn({ client, model: opus, tools, run: { rm } })
    const interrupted = await aged(store, 'interrupted')
    await interrupted.append({
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'c', name: 'rm', input: {} }],
    })
    await store.retention.set({ prefix: '', keep: year, by })
    const { skipped, ...counts } = await store.retention.apply()
    expect(counts).toMatchObject({ conversations: 2, events: 2, moreSkipped: 0 })
    expect(skipped).toEqual([
      {
        conversation: 'open',
        problem: expect.stringMatching(/call c of event \d has no result yet: let a turn/),
      },
      { conversation: 'held', problem: expect.stringContaining('under the legal hold of legal') },
    ])
    const whole = await Promise.all([held, open, interrupted, free].map(isWhole))
    expect(whole).toEqual([true, true, false, false])
    expect(runsIn(given).at(-1)).toMatchObject({ data: { skipped: ['open', 'held'] } })
    await held.release({ by: 'legal' })
    expect(await store.retention.apply()).toMatchObject({
      conversations: 1,
      skipped: [{ conversation: 'open' }],
    })
  })

  it('skips a conversation of which a fork under a legal hold shows something', async () => {
    const { store } = await scene()
    const [chat, other] = [await aged(store, 'c'), await aged(store, 'd')]
    const fork = await chat.fork('f')
    await fork.hold({ by: 'legal' })
    await store.retention.set({ prefix: '', keep: year, by })
    expect(await store.retention.apply()).toMatchObject({
      conversations: 1,
      skipped: [
        {
          conversation: 'c',
          problem: expect.stringMatching(/fork f, which shows event \d, is under the legal/),
        },
      ],
    })
    expect([await isWhole(chat), await isWhole(other)]).toEqual([true, false])
    await fork.release({ by: 'legal' })
    expect(await store.retention.apply()).toMatchObject({ conversations: 1, skipped: [] })
  })

  it('that is interrupted leaves the rest to the next one', async () => {
    const given = await scene()
    const { store } = given
    const chat = await aged(store, 'c')
    await store.retention.set({ prefix: '', keep: year, by })
    expect(await store.retention.apply({ signal: AbortSignal.abort() })).toMatchObject({
      conversations: 0,
      isComplete: false,
    })
    expect(await isWhole(chat)).toBe(true)
    expect(await store.retention.apply()).toMatchObject({ conversations: 1, isComplete: true })
  })

  it('begins by itself in one process a day', async () => {
    const given = await scene()
    const { store, file } = given
    const other = await openStore(`sqlite:${file}`)
    atEnd(other.close)
    await aged(store, 'c')
    expect(await store.retention.applyIfDue()).toBeUndefined()
    await store.retention.set({ prefix: '', keep: year, by })
    const reports = await Promise.all(
      [store, other, store, other].map(({ retention }) => retention.applyIfDue()),
    )
    expect(reports.filter((report) => report !== undefined)).toMatchObject([{ conversations: 1, events: 1 }])
    expect(runsIn(given).map(({ type }) => type)).toEqual(['RetentionRunBegun', 'RetentionRunEnded'])
    const db = new DatabaseSync(file)
    const yesterday = new Date(Date.now() - 86_400_000).toISOString()
    db.prepare(`UPDATE events SET metadata = json_set(metadata, '$.time', ?) WHERE stream = ${runs}`).run(
      yesterday,
    )
    db.close()
    expect(await store.retention.applyIfDue()).toMatchObject({ conversations: 0 })
  })

  it('may be begun by two processes at once: nothing is erased twice', async () => {
    const { store, folder } = await scene()
    const ids = Array.from({ length: 20 }, (_, n) => `task-${n}`)
    for (const id of ids) await aged(store, id)
    await store.retention.set({ prefix: 'task-', keep: year, by })
    const url = `sqlite:${join(folder, 'palimpsest.db')}`
    const args = ['retention', '--apply', '--json', '--store', url] as const
    const path = await program()
    const both = await Promise.all([1, 2].map(() => ended(startHeard(path, ...args))))
    const reports = both.map(({ output, code }) => ({
      code,
      ...(JSON.parse(output) as { readonly events: number }),
    }))
    expect(reports).toMatchObject([
      { code: 0, isComplete: true, skipped: [] },
      { code: 0, isComplete: true, skipped: [] },
    ])
    expect(reports.reduce((sum, { events }) => sum + events, 0)).toBe(ids.length)
    for (const id of ids) {
      const chat = store.conversation(id)
      expect(await chat.position()).toBe(2)
      expect((await chat.verify()).discrepancy).toBeUndefined()
    }
  })
})

describe('on the command line', () => {
  it('rules are set, listed, applied and removed', async () => {
    const { store, folder } = await scene()
    await aged(store, 'support-1')
    const ran = async (command: string) => {
      const { stdout, stderr, code } = await shell(`palimpsest retention ${command}`, folder, { USER: 'ann' })
      return { out: (stdout + stderr).trimEnd().replaceAll(/\d{4}-\S+Z/g, 'TIME'), code }
    }
    expect(await ran('')).toEqual({ out: '', code: 0 })
    for (const apply of ['--apply', '--apply --dry-run'])
      expect(await ran(apply)).toEqual({
        out: 'no rules: everything is kept; palimpsest retention --keep 12mo --for PREFIX sets one',
        code: 0,
      })
    const which = `  support-1  1 event, the first of ${monthsAgo(13).toISOString().slice(0, 10)}`
    const due = `due now: 1 event of 1 conversation\n${whenApplied}\n${which}`
    expect(await ran('--keep 1y --for support- --dry-run')).toEqual({
      out: `with this rule, conversations whose id begins with support- are kept for 12 months\n${due}`,
      code: 0,
    })
    expect(await store.retention.rules()).toEqual([])
    expect(await ran('--keep 1y --for support- --reason "policy 7"')).toEqual({
      out: `conversations whose id begins with support- are kept for 12 months\n${due}`,
      code: 0,
    })
    for (const listing of ['', '--list'])
      expect(await ran(listing)).toEqual({ out: "'support-'\t12 months\tTIME\tann\tpolicy 7", code: 0 })
    expect(await ran('--apply --dry-run')).toEqual({
      out: `would erase: 1 event of 1 conversation\n${which}`,
      code: 0,
    })
    await store.conversation('support-1').hold({ by: 'legal' })
    expect((await ran('--apply')).out).toMatch(
      /^erased: nothing, because what is due is skipped\nskipped support-1: it is under .*release it first$/,
    )
    await store.conversation('support-1').release({ by: 'legal' })
    expect(await ran('--apply')).toEqual({ out: `erased: 1 event of 1 conversation\n${which}`, code: 0 })
    expect(await ran('--keep 2y --for ""')).toEqual({
      out: 'all other conversations are kept for 24 months\nthe rule applies to no conversation now',
      code: 0,
    })
    expect(await ran('--keep 2y --for suport')).toEqual({
      out: 'conversations whose id begins with suport are kept for 24 months\nthe rule applies to no conversation now: did you mean support?',
      code: 0,
    })
    for (const [option, prefix] of [
      ['--end', 'support-'],
      ['--remove', 'suport'],
    ] as const)
      expect(await ran(`${option} ${prefix}`)).toEqual({ out: `the rule for '${prefix}' has ended`, code: 0 })
    expect((await ran('--dry-run')).out).toContain('--dry-run needs --keep or --apply')
    expect((await ran('--keep 5mo --for ""')).out).toMatch(
      /--keep: must be six months or more .*add --force and --reason$/,
    )
    expect((await ran('--keep 5mo')).out).toContain('--keep needs --for')
    expect((await ran('--keep 5h --for ""')).out).toContain('whole days')
    expect((await ran('--force')).out).toContain('need --keep')
  })

  it('a rule is set on a terminal once it is confirmed', async () => {
    const { store, folder } = await scene()
    await aged(store, 'support-1')
    const url = `sqlite:${join(folder, 'palimpsest.db')}`
    const answered = async (answer: string, ...options: readonly string[]): Promise<string> => {
      const stdin = Object.assign(Readable.from([answer]), { isTTY: true })
      const [stdout, stderr] = [new PassThrough(), new PassThrough()]
      await run(['retention', '--keep', '1y', '--for', 'support-', '--store', url, ...options], {
        stdin,
        stdout,
        stderr,
        env: {},
      })
      return [stdout, stderr].map((stream) => String(stream.read() ?? '')).join('')
    }
    const question =
      'Set the rule: conversations whose id begins with support- are kept for 12 months? [y/N] '
    const refused = await answered('n\n')
    expect(refused).toMatch(/^due now: 1 event of 1 conversation\n/)
    expect(refused).toContain('  support-1  1 event, the first of ')
    expect(refused).toContain('nothing was set\n')
    expect(refused.endsWith(question)).toBe(true)
    expect(await answered('', '--keep', '5mo')).toMatch(/^error: --keep: must be six months or more/)
    expect(await store.retention.rules()).toEqual([])
    expect(await answered('y\n')).toContain(question)
    expect(await store.retention.rules()).toMatchObject([{ prefix: 'support-' }])
    expect(await answered('', '--keep', '2y', '--yes')).not.toContain('[y/N]')
    expect(await store.retention.rules()).toMatchObject([{ keep: { months: 24 } }])
  })

  it('a release says what is due, by which rule, and when it goes', async () => {
    const { store, folder } = await scene()
    const [, subagent] = [await aged(store, 'task-1'), await aged(store, 'task-1:a')]
    await aged(store, 'task-12')
    await subagent.link({ relation: 'subagent-of', conversation: 'task-1' })
    await store.retention.set({ prefix: 'task-', keep: year, by })
    const release = async (flags: string): Promise<string> => {
      await store.conversation('task-1').hold({ by: 'legal' })
      return (await shell(`palimpsest release task-1 --by legal ${flags}`, folder)).stdout
    }
    expect(await release('')).toBe(
      `task-1 is released\ndue now: 2 events of 2 conversations, by the rule for 'task-' (12 months)\n${whenApplied}\n`,
    )
    expect(JSON.parse(await release('--json'))).toMatchObject({ due: { conversations: 2, events: 2 } })
    await store.retention.end({ prefix: 'task-', by })
    expect(await release('')).toBe('task-1 is released\n')
  })

  it('a run, erase, verify and copy count events, notes and the original file separately, and the numbers add up', async () => {
    const { store, folder } = await scene()
    const at = (line: object): string => JSON.stringify({ ...line, timestamp: monthsAgo(13).toISOString() })
    const text = [
      at({ type: 'session', version: 3, id: 's', cwd: '/' }),
      at({ type: 'message', id: 'm', parentId: null, message: { role: 'user', content: 'Hello.' } }),
    ].join('\n')
    await store.importSession({ file: 'c.jsonl', text, id: 'c', format: 'pi' })
    await store.conversation('c').note({ kind: 'title', data: 'Greeting' }, { now: monthsAgo(13) })
    await store.retention.set({ prefix: '', keep: year, by })
    const copy = 'palimpsest copy --from sqlite:palimpsest.db --to sqlite:other.db'
    const before = await shell(`${copy}; palimpsest erase c --dry-run`, folder)
    expect(before.stdout).toContain('1 event (0), 1 note, 1 original file')
    const { stdout } = await shell(`palimpsest retention --apply; palimpsest verify c; ${copy}`, folder)
    const erased = '1 event, 1 note, 1 original file'
    expect(stdout.trimEnd().split('\n')).toEqual([
      `erased: ${erased} of 1 conversation`,
      `  c  ${erased}, the first of ${monthsAgo(13).toISOString().slice(0, 10)}`,
      `ok       c  2 events, 1 note unchanged; erased: ${erased}`,
      `c\t2\t1\tverified; erased: ${erased}`,
    ])
  })

  it('a run names the first 20 conversations, and how many more there are', async () => {
    const { store, folder } = await scene()
    for (let n = 0; n < 22; n++) await aged(store, `task-${n}`)
    await store.retention.set({ prefix: 'task-', keep: year, by })
    const lines = (await shell('palimpsest retention --apply --dry-run', folder)).stdout.trim().split('\n')
    expect(lines).toHaveLength(22)
    expect(lines.at(-1)).toBe('  and 2 more conversations (--json names 1,000)')
    const { stdout } = await shell('palimpsest retention --apply --dry-run --json', folder)
    expect((JSON.parse(stdout) as { erased: unknown[] }).erased).toHaveLength(22)
  })

  it('serve applies the rules', async () => {
    const { store, folder } = await scene()
    const chat = await aged(store, 'c')
    await store.retention.set({ prefix: '', keep: year, by })
    const url = `sqlite:${join(folder, 'palimpsest.db')}`
    const child = startHeard(await program(), 'serve', '--port', '0', '--store', url)
    endsWithTest(child)
    let heard = ''
    for await (const part of child.stderr ?? [])
      if ((heard += String(part)).includes('"retention":"applied"')) break
    expect(await isWhole(chat)).toBe(false)
    child.kill('SIGTERM')
    expect((await once(child, 'exit'))[0]).toBe(0)
  })

  it('a failure of what serve and work do once a day is printed, and does not end them', async () => {
    const { store } = await scene()
    await store.close()
    const [stop, printed] = [new AbortController(), Promise.withResolvers<string>()]
    const running = keepApplyingRetention(store, { write: printed.resolve }, stop.signal)
    expect(JSON.parse(await printed.promise)).toMatchObject({
      retention: 'failed',
      error: { _tag: 'StoreClosed' },
    })
    expect(await Promise.race([running.then(() => 'ended'), Promise.resolve('goes on')])).toBe('goes on')
    stop.abort()
    await running
  })
})
