import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { openStore } from '../../src/index.ts'
import { bisectionOf } from '../../src/investigate/by-hand.ts'
import { bisect, type Judge, modelJudge } from '../../src/investigate/index.ts'
import { commandJudge } from '../../src/cli/work/command-judge.ts'
import { inDirectory, shell } from '../cli/palimpsest.ts'
import { atEnd } from '../support/at-end.ts'
import { text } from '../support/log.ts'
import { scene } from '../support/turn-scene.ts'

/** A conversation in which a summary at 21 loses the name of the file. */
const begun = async (url = 'memory:') => {
  const store = await openStore(url)
  atEnd(store.close)
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'Repair src/parser.ts.' })
  for (let n = 0; n < 10; n++) {
    await chat.append({ role: 'assistant', content: `Step ${n}.` })
    await chat.append({ role: 'user', content: 'Go on.' })
  }
  await chat.condense({ covers: { first: 0, last: 8 }, summary: 'A file is repaired.' })
  for (let n = 0; n < 10; n++)
    await chat.append({ role: n % 2 ? 'user' : 'assistant', content: `Later ${n}.` })
  return { store, chat }
}
const knowsFile: Judge = ({ items }) => ({
  verdict: JSON.stringify(items).includes('parser.ts') ? 'good' : 'bad',
  evidence: { shown: items.length },
})

describe('bisect', () => {
  test('keeps the beginning of what a command prints, however much that is, and no half character', async () => {
    const { chat } = await begun()
    const judge = commandJudge(
      `node -e 'process.stdout.write("a" + "😀".repeat(100_000)); process.exitCode = 1'`,
      process.env,
    )
    const { verdicts } = await bisect(chat, { good: 0, bad: 2, question: 'x', judge })
    expect(verdicts[0]?.evidence).toEqual({ exitCode: 1, stdout: `a${'😀'.repeat(1_999)}\ufffd`, stderr: '' })
  })

  test('finds the event since which something is wrong, and keeps every verdict with its evidence', async () => {
    const { chat } = await begun()
    const asked = { good: 0, bad: 31, question: 'does it know the file?' }
    const found = await bisect(chat, { ...asked, judge: knowsFile })
    expect(found).toMatchObject({ result: { type: 'found', position: 21 }, event: 'Condensed' })
    expect(found.verdicts.length).toBeLessThanOrEqual(6)
    const notes = await chat.notes({ kind: 'palimpsest/verdict' })
    expect(notes.map(({ data }) => data)).toMatchObject(found.verdicts)
    expect(notes[0]?.data).toMatchObject({ bisection: found.id, evidence: { shown: expect.any(Number) } })
    // It is known by now: nobody is asked.
    const judge = () => expect.unreachable()
    expect(await bisect(chat, { ...asked, judge })).toEqual(found)
  })

  test('finds the configuration since which another model is asked, though all else in the request is the same', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const chat = store.conversation('c')
    await chat.configure({ model: 'claude-opus-5-5' })
    for (let n = 0; n < 3; n++) await chat.append({ role: 'user', content: 'Go on.' })
    const { position } = await chat.configure({ model: 'claude-haiku-5-5' })
    for (let n = 0; n < 4; n++) await chat.append({ role: 'user', content: 'Go on.' })
    const judge: Judge = ({ request }) => ({
      verdict: request['model'] === 'claude-opus-5-5' ? 'good' : 'bad',
    })
    const { result } = await bisect(chat, { good: 0, bad: 8, judge })
    expect(result).toEqual({ type: 'found', position, probability: 1 })
  })

  test('continues where it was interrupted', async () => {
    const { chat } = await begun()
    let left = 2
    const judge: Judge = (state) => {
      if (left-- === 0) throw new Error('out of tea')
      return knowsFile(state)
    }
    const asked = { good: 0, bad: 31, question: 'does it know the file?' }
    await expect(bisect(chat, { ...asked, judge })).rejects.toThrow('out of tea')
    const found = await bisect(chat, { ...asked, judge })
    expect([found.result, found.verdicts.length]).toEqual([
      { type: 'found', position: 21, probability: 1 },
      1 - left,
    ])
    const again = await bisect(chat, { ...asked, judge: knowsFile, again: true })
    expect(again.id).not.toBe(found.id)
  })

  test('asks a person position by position', async () => {
    const { chat } = await begun()
    // Nobody was asked yet, so nobody can know what the answer is about.
    await expect(bisect(chat, { good: 0, bad: 31, mark: 'good' })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'mark',
    })
    expect(await chat.notes()).toEqual([])
    let { result } = await bisect(chat, { good: 0, bad: 31 })
    for (let asks = 0; result.type === 'ask' && asks < 9; asks++)
      ({ result } = await bisect(chat, { good: 0, bad: 31, mark: result.position < 21 ? 'good' : 'bad' }))
    expect(result).toMatchObject({ type: 'found', position: 21 })
  })

  test('asks a model five times at each end how often it is right, and refuses if the ends look alike', async () => {
    const model = async (isWrong: (n: number) => boolean) => {
      let n = 0
      const { client } = await scene([
        ({ messages }) => {
          const isBad = !JSON.stringify(messages).includes('parser.ts')
          return { content: [text(`I see.\n${isBad === isWrong(n++) ? 'NO' : 'YES'}`)] }
        },
      ])
      return { client, model: 'claude-opus-5-5', question: 'Has it lost the file?' }
    }
    const { chat } = await begun()
    const given = await model((n) => n === 3)
    const found = await bisect(chat, {
      good: 0,
      bad: 31,
      question: given.question,
      reliability: 'measure',
      judge: modelJudge(given),
    })
    expect(found).toMatchObject({ result: { type: 'found', position: 21 }, reliability: 10 / 12 })
    expect(found.verdicts.filter(({ isMeasure }) => isMeasure)).toHaveLength(10)
    expect(found.verdicts[0]?.evidence).toMatchObject({
      model: 'claude-opus-5-5',
      reply: expect.stringContaining('I see.'),
    })
    const blind = await model((n) => n % 2 === 0)
    const question = 'Is it blue?'
    expect(
      await bisect(chat, {
        good: 0,
        bad: 31,
        question,
        reliability: 'measure',
        judge: modelJudge({ ...blind, question }),
      }),
    ).toMatchObject({
      result: { type: 'unclear', why: 'alike' },
    })
  })

  test('is begun once by two who begin it at the same time, and twice by who begins it again', async () => {
    const { chat } = await begun()
    const asked = { good: 0, bad: 31, question: 'does it know the file?' }
    const both = await Promise.all([bisect(chat, asked), bisect(chat, { ...asked, reliability: 0.9 })])
    expect(new Set(both.map(({ id }) => id)).size).toBe(1)
    expect(await chat.notes({ kind: 'palimpsest/bisection' })).toHaveLength(1)
    expect((await bisect(chat, { ...asked, again: true })).id).not.toBe(both[0].id)
  })

  test('is continued with the reliability that it was begun with', async () => {
    const { chat } = await begun()
    const asked = { good: 0, bad: 31 }
    await bisect(chat, { ...asked, reliability: 0.8 })
    expect(await bisect(chat, { ...asked, mark: 'good' })).toMatchObject({ reliability: 0.8 })
    expect(await bisect(chat, { ...asked, reliability: 1 })).toMatchObject({ reliability: 1 })
  })

  test('asks, however little reliable verdicts are said to be: only measured ones look alike', async () => {
    const { chat } = await begun()
    const { id, result } = await bisect(chat, { good: 0, bad: 31, reliability: 0.55 })
    expect(result).toMatchObject({ type: 'ask' })
    expect((await bisectionOf(chat, id))?.result).toEqual(result)
  })

  test('refuses ends that are not in that order', async () => {
    const { chat } = await begun()
    await chat.rewind({ to: 25 })
    await chat.append({ role: 'user', content: 'Another way.' })
    for (const [good, bad] of [
      [33, 30],
      [5, 5],
      [9, 3],
    ] as const)
      await expect(bisect(chat, { good, bad })).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'good' })
    await expect(bisect(chat, { good: 0, bad: 99 })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'bad',
      message: expect.stringContaining('is after the last position, 33'),
    })
    expect(await chat.notes()).toEqual([])
    await expect(bisect(chat, { good: 0, bad: 9, reliability: 0.4 })).rejects.toMatchObject({
      _tag: 'InvalidInput',
    })
  })

  test('runs a command, which gets the state on standard input, and its exit code is the verdict', () =>
    inDirectory(async (directory) => {
      const { store } = await begun(`sqlite:${join(directory, 'palimpsest.db')}`)
      await store.close()
      writeFileSync(
        join(directory, 'judge.sh'),
        'test "$PALIMPSEST_CONVERSATION" = c || exit 126; grep -q "parser.ts"',
      )
      expect(
        await shell(`palimpsest bisect c --good 0 --bad 31 --run 'sh judge.sh'`, directory),
      ).toMatchObject({
        stdout: expect.stringMatching(/first bad \(100 %\):\n {3}21 {2}◆ {2}condensed/),
        code: 0,
      })
      const failed = await shell(`palimpsest bisect c --good 0 --bad 31 --run 'exit 127' --json`, directory)
      expect([failed.code, JSON.parse(failed.stderr)]).toMatchObject([1, { error: { _tag: 'RunFailed' } }])
      const skipping = `case $PALIMPSEST_POSITION in 28) exit 0;; 31) exit 1;; *) exit 125;; esac`
      const skipped = await shell(`palimpsest bisect c --good 28 --bad 31 --run '${skipping}'`, directory)
      expect(skipped).toMatchObject({ stdout: expect.stringContaining('were skipped'), code: 1 })
      expect((await shell('palimpsest bisect c --good 0 --bad 31', directory)).stdout).toMatch(
        /^look at (\d+): palimpsest show c --at \1\nthen answer with good, bad or skip: palimpsest bisect c --good 0 --bad 31 --mark good\n$/,
      )
      expect(await shell('palimpsest bisect c --good 0 --bad 31 --ask x', directory)).toMatchObject({
        code: 2,
      })
    }))

  test('prints each verdict as it comes, those that were kept first', () =>
    inDirectory(async (directory) => {
      const { store } = await begun(`sqlite:${join(directory, 'palimpsest.db')}`)
      await store.close()
      const once =
        'case $PALIMPSEST_POSITION in 0) exit 0;; 31) exit 1;; esac; test -e asked && exit 127\n: > asked\nexit 1'
      writeFileSync(join(directory, 'once.sh'), once)
      const run = `palimpsest bisect c --good 0 --bad 31 --run 'sh once.sh'`
      const first = await shell(run, directory)
      const verdicts = / {4}0 {2}good {2}\(an end\)\n {3}31 {2}bad {2}\(an end\)\n {3}\d\d {2}bad\n$/
      expect(first).toMatchObject({ code: 1, stdout: expect.stringMatching(verdicts) })
      expect(first.stderr).not.toContain('kept since')
      const second = await shell(run, directory)
      expect(second).toMatchObject({ code: 1, stdout: first.stdout })
      expect(second.stderr).toMatch(/^3 verdicts kept since \d{4}-\S+Z: --again ignores them\n/)
    }))

  test('runs the command at both ends first, and refuses if it does not tell them apart', () =>
    inDirectory(async (directory) => {
      const { store } = await begun(`sqlite:${join(directory, 'palimpsest.db')}`)
      await store.close()
      writeFileSync(join(directory, 'broken.sh'), 'cat missing.txt')
      for (const [command, says] of [
        ['exit 0', 'the good end, 0, is good, and the verdict on the bad end, 31, is good'],
        ['sh broken.sh', 'the good end, 0, is bad, and the verdict on the bad end, 31, is bad'],
        ['exit 125', 'the good end, 0, is skip, and the verdict on the bad end, 31, is skip'],
        ['! grep -q parser.ts', 'the good end, 0, is bad, and the verdict on the bad end, 31, is good'],
      ] as const) {
        const refused = await shell(`palimpsest bisect c --good 0 --bad 31 --run '${command}'`, directory)
        expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(says) })
      }
      const right = await shell(`palimpsest bisect c --good 0 --bad 31 --run 'grep -q parser.ts'`, directory)
      expect(right).toMatchObject({ code: 0, stdout: expect.stringContaining('first bad (100 %)') })
    }))

  test('finds a rewind that has abandoned what the model knew', async () => {
    const { chat } = await begun()
    await chat.append({ role: 'user', content: 'The password is swordfish.' })
    await chat.append({ role: 'assistant', content: 'I see.' })
    const { position } = await chat.rewind({ to: 25 })
    await chat.append({ role: 'user', content: 'Another way.' })
    const { position: bad } = await chat.append({ role: 'assistant', content: 'Yes.' })
    const judge: Judge = ({ items }) => ({
      verdict: JSON.stringify(items).includes('swordfish') ? 'good' : 'bad',
    })
    expect(await bisect(chat, { good: position - 1, bad, checkEnds: true, judge })).toMatchObject({
      result: { type: 'found', position },
      event: 'Rewound',
    })
  })

  test('kills a command that takes too long, with what it has started, and continues when asked again', async () => {
    const { chat } = await begun()
    const judge = commandJudge('sleep 1000 & sleep 1000', process.env, 0.02)
    const listeners = process.listenerCount('SIGINT')
    const asked = { good: 0, bad: 31, question: 'is it right?' }
    await expect(bisect(chat, { ...asked, judge })).rejects.toMatchObject({
      _tag: 'RunFailed',
      message: expect.stringContaining('took longer than 0.02 s (--timeout)'),
    })
    expect(process.listenerCount('SIGINT')).toBe(listeners)
    expect(await bisect(chat, { ...asked, judge: knowsFile })).toMatchObject({ result: { position: 21 } })
  })

  test('leaves no note if its judge fails at once, or finds the ends alike', async () => {
    const { chat } = await begun()
    const failing = commandJudge('exit 127', process.env)
    await expect(bisect(chat, { good: 0, bad: 31, judge: failing })).rejects.toMatchObject({
      _tag: 'RunFailed',
    })
    const alike: Judge = () => ({ verdict: 'good' })
    await expect(bisect(chat, { good: 0, bad: 31, checkEnds: true, judge: alike })).rejects.toMatchObject({
      _tag: 'EndsAlike',
    })
    expect(await chat.notes()).toEqual([])
  })

  test.skipIf(process.platform !== 'linux')(
    'does not wait for what has left the group of a command that takes too long',
    () =>
      inDirectory(async (directory) => {
        const { chat } = await begun()
        const file = join(directory, 'pid')
        const judge = commandJudge(`setsid sleep 1000 & echo $! > '${file}'; wait`, process.env, 1)
        vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
        atEnd(() => void vi.useRealTimers())
        const judged = bisect(chat, { good: 0, bad: 31, question: 'is it right?', judge }).catch(String)
        const pid = (): number => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0)
        await expect.poll(pid).toBeGreaterThan(0)
        try {
          vi.advanceTimersByTime(1_000)
          expect(await judged).toContain('took longer than 1 s')
        } finally {
          process.kill(pid(), 'SIGKILL')
        }
      }),
  )
})
