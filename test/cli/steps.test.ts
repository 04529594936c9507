import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { takeoverDelay } from '../../src/agent/workers/board/open-step.ts'
import { openStore } from '../../src/index.ts'
import { openEvents, storeOn } from '../../src/api/open.ts'
import { linesOf } from '../../src/cli/text.ts'
import { run as runCli } from '../../src/cli/run.ts'
import { run } from '../../src/result/fallible.ts'
import { parkStep } from '../support/park-step.ts'
import { right } from '../support/either.ts'
import { inDirectory, shell } from './palimpsest.ts'

/** A store in which `a` is open, `b` claimed by `w1`, and `c` parked; nobody has asked for an answer in `d`. */
const withSteps = async (directory: string): Promise<void> => {
  const events = right(await openEvents(`sqlite:${join(directory, 'palimpsest.db')}`)())
  const store = storeOn(events, { kind: 'program' })
  for (const id of ['a', 'b', 'd'])
    right(
      await store
        .conversation(id)
        .append({ role: 'user', content: 'Is it there?' }, id === 'd' ? {} : { answer: true })(),
    )
  const begun = { type: 'TurnsBegun', data: { at: 0 } } as const
  const claimed = {
    type: 'TurnClaimed',
    data: { step: 'conversation@0', worker: 'w1', attempt: 1, at: 0 },
  } as const
  right(await run(store.conversation('b').turnLog.append([begun, claimed], -1)))
  await parkStep(events, 'c', ['ModelFailed: no\nkey'])
  right(await store.close()())
}

const json = async (command: string, directory: string): Promise<unknown> => {
  const { stdout, stderr } = await shell(`palimpsest ${command} --json`, directory, { USER: 'ann' })
  return JSON.parse(stdout || stderr)
}

describe('palimpsest steps', () => {
  test('lists what workers are asked to do, of one state or of all', () =>
    inDirectory(async (directory) => {
      await withSteps(directory)
      const { stdout } = await shell('palimpsest steps', directory)
      expect(stdout.replaceAll(/\S+Z/g, 'TIME').split('\n')).toEqual([
        'a\topen\tTIME\t0\t\t\t',
        'b\tclaimed\tTIME\t1\tw1\t\t',
        'c\tparked\tTIME\t0\t\tModelFailed: no␊key\t',
        '',
      ])
      for (const [state, conversation] of [
        ['open', 'a'],
        ['claimed', 'b'],
        ['parked', 'c'],
      ])
        expect(await json(`steps --${state}`, directory)).toMatchObject({ steps: [{ conversation, state }] })
      expect(await json('steps --waiting', directory)).toEqual({ steps: [] })
      expect(await json('steps --open --parked', directory)).toMatchObject({ error: { _tag: 'Usage' } })
    }))
})

test('an open step that is asked for again keeps its age, and so its place', () =>
  inDirectory(async (directory) => {
    await withSteps(directory)
    await shell('palimpsest say e hello --answer', directory)
    const open = async () => ((await json('steps --open', directory)) as { steps: unknown[] }).steps
    const before = await open()
    expect(before).toMatchObject([{ conversation: 'a' }, { conversation: 'e' }])
    await shell('palimpsest answer a --priority 2', directory)
    expect(await open()).toMatchObject([
      { conversation: 'a', since: (before[0] as { since: string }).since, priority: 2 },
      { conversation: 'e' },
    ])
  }))

test('the exit code of a process that died is shown, though others have noticed its death before it was told', () =>
  inDirectory(async (directory) => {
    await withSteps(directory)
    const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
    for (const reason of ['its process has ended', 'exit 3']) await store.workerStopped('w1', { reason })
    await store.close()
    const events = right(await openEvents(`sqlite:${join(directory, 'palimpsest.db')}`)())
    const { turnLog } = storeOn(events, { kind: 'program' }).conversation('b')
    expect(await json('steps --open', directory)).toMatchObject({
      steps: [{ conversation: 'a' }, { conversation: 'b', errors: ['w1 ended (exit 3)'] }],
    })
    // A worker that parks the step may not know the exit code yet.
    const parked = { step: 'conversation@0', attempts: 1, errors: ['w1 ended'], at: 0 }
    right(await run(turnLog.append([{ type: 'TurnParked', data: parked }], 1)))
    right(await events.close()())
    expect(await json('steps --parked', directory)).toMatchObject({
      steps: [{ conversation: 'b', errors: ['w1 ended (exit 3)'] }, { conversation: 'c' }],
    })
  }))

test('palimpsest steps says who takes a step during which two workers died', () =>
  inDirectory(async (directory) => {
    const numbers = Array.from({ length: 9_999 }, (_, n) => `c${n}`)
    const id = numbers.find((each) => takeoverDelay(each, 3) < 5) ?? ''
    const events = right(await openEvents(`sqlite:${join(directory, 'palimpsest.db')}`)())
    const store = storeOn(events, { kind: 'program' })
    const chat = store.conversation(id)
    right(await chat.append({ role: 'user', content: 'hello' }, { answer: true })())
    right(await run(chat.turnLog.append([{ type: 'TurnsBegun', data: { at: 0 } }], -1)))
    for (const attempt of [1, 2]) {
      const data = { step: 'conversation@0', worker: `w${attempt}`, attempt, at: 0 }
      right(await run(chat.turnLog.append([{ type: 'TurnClaimed', data }], attempt - 1)))
      right(await store.workerStopped(`w${attempt}`)())
    }
    const ends = new AbortController()
    const worker = store.worker({ conversations: ['none'], turn: () => new Promise<never>(() => {}) })
    const done = worker.run({ signal: ends.signal })()
    for await (const { workers } of store.workers({ every: 5 })) if (workers.length > 0) break
    expect((await shownIn(directory)).join(' ')).toContain('open after two deaths: left to the worker that')
    ends.abort()
    await done
    right(await store.close()())
  }))

test('palimpsest steps says why nobody takes an open step', () =>
  inDirectory(async (directory) => {
    await withSteps(directory)
    const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
    await store.workerStopped('w1')
    expect((await shownIn(directory)).join(' ')).toContain(
      'open: no worker is running: start palimpsest work AGENT, or wait if it restarts its processes',
    )
    const ends = new AbortController()
    const worker = store.worker({ conversations: ['none'], turn: () => new Promise<never>(() => {}) })
    const done = worker.run({ signal: ends.signal })
    for await (const { workers } of store.workers({ every: 5 })) if (workers.length > 0) break
    expect((await shownIn(directory)).join('\n')).not.toContain('open:')
    await store.pauseWorker(worker.id, { by: 'ann' })
    expect(await shownIn(directory)).toContain(
      'open: all workers are paused; palimpsest resume --worker ID lets one continue',
    )
    ends.abort()
    await done
    await store.close()
  }))

test('palimpsest waiting lists the calls of every conversation that workers answer', () =>
  inDirectory(async (directory) => {
    const events = right(await openEvents(`sqlite:${join(directory, 'palimpsest.db')}`)())
    const store = storeOn(events, { kind: 'program' })
    for (const [n, id] of ['a', 'b'].entries()) {
      const chat = store.conversation(id)
      const call = { type: 'tool_use', id: `toolu_${n}`, name: 'pay', input: { euros: n } } as const
      right(await chat.append({ role: 'user', content: 'Pay.' }, { answer: true })())
      right(await chat.append({ role: 'assistant', content: [call] })())
      const step = { step: 'conversation@0', worker: 'w', at: 1 }
      const facts = [
        { type: 'TurnsBegun', data: { at: 0 } },
        { type: 'TurnClaimed', data: { ...step, attempt: 1 } },
        { type: 'CallsWaiting', data: { reply: 1, calls: [call.id], why: 'approval', at: 1 } },
        { type: 'TurnReleased', data: { ...step, reason: 'waiting' } },
      ] as const
      right(await run(chat.turnLog.append(facts, -1)))
    }
    right(await store.close()())
    expect((await shownIn(directory)).join(' ')).toContain(
      'palimpsest approve ID CALL or deny ID CALL decides',
    )
    const { stdout } = await shell('palimpsest waiting', directory)
    expect(stdout).toBe(
      'a\t1\tapprove?\ttoolu_0\tpay\t{"euros":0}\nb\t1\tapprove?\ttoolu_1\tpay\t{"euros":1}\n',
    )
    expect((await shownIn(directory, 'waiting'))[0]).toBe('a      1  approve?   toolu_0  pay {"euros":0}')
    expect(await json('waiting', directory)).toMatchObject({
      calls: [
        { conversation: 'a', call: 'toolu_0' },
        { conversation: 'b', call: 'toolu_1' },
      ],
      moreConversations: 0,
    })
    expect(await json('waiting --queued', directory)).toMatchObject({ error: { _tag: 'Usage' } })
  }))

test('palimpsest waiting without an id says how to list the calls of a conversation that only a program answers', () =>
  inDirectory(async (directory) => {
    await withSteps(directory)
    const { stderr, stdout } = await shell('palimpsest waiting', directory)
    expect(stdout + stderr).toBe('')
    const lines = await shownIn(directory, 'waiting')
    expect(lines.join(' ')).toContain('Of others: palimpsest waiting ID')
  }))

test('palimpsest cancel says which worker has claimed the turn, if it is known', () =>
  inDirectory(async (directory) => {
    await withSteps(directory)
    const said = async (id: string) => (await shell(`palimpsest cancel ${id}`, directory)).stdout
    expect(await said('b')).toBe('cancelled the current turn of b, claimed by w1\n')
    expect(await said('a')).toBe(
      'no worker has a turn of a in progress: its step stays open; palimpsest pause a keeps it from workers\n',
    )
    expect(await said('c')).toContain('in progress: its step is parked')
    expect(await said('d')).toBe('cancelled the current turn of d, if there was one\n')
    expect(await json('steps --open', directory)).toMatchObject({ steps: [{ conversation: 'a' }] })
  }))

describe('palimpsest append and say', () => {
  test('name a new conversation on a terminal, as its id may be mistyped', () =>
    inDirectory(async (directory) => {
      const said = async () => (await shownIn(directory, 'say', 'task-41', 'Hello.'))[0]
      expect(await said()).toBe('recorded in task-41, at position 0 (a new conversation)')
      expect(await said()).toMatch(/^queued for task-41/)
    }))

  test('with --answer ask workers for an answer, and not without', () =>
    inDirectory(async (directory) => {
      for (const command of ['append a --role user --text hello', 'say b hello']) {
        await shell(`palimpsest ${command}`, directory)
        expect(await json('steps', directory)).toEqual({ steps: [] })
      }
      for (const command of ['append c --role user --text hello', 'say d hello'])
        await shell(`palimpsest ${command} --answer`, directory)
      expect(await json('steps', directory)).toMatchObject({
        steps: [
          { conversation: 'c', state: 'open' },
          { conversation: 'd', state: 'open' },
        ],
      })
    }))
})

describe('the tenant and the priority of a request', () => {
  test('may be given with --answer, and are shown on a terminal', () =>
    inDirectory(async (directory) => {
      for (const command of ['append c --role user --text hello', 'say d hello'])
        await shell(`palimpsest ${command} --answer --tenant acme --priority 1`, directory)
      await shell('palimpsest say e hello --answer', directory)
      expect(await json('steps', directory)).toMatchObject({
        steps: [{ tenant: 'acme', priority: 1 }, { tenant: 'acme', priority: 1 }, { conversation: 'e' }],
      })
      const lines = await shownIn(directory)
      expect(lines[0]).toMatch(/^conversation +state +tenant +priority +age +attempts/)
      expect(lines[1]).toMatch(/^c +open +acme +1 +\d+ s +0$/)
      expect((await shell('palimpsest steps | cut -f1-2', directory)).stdout).toBe(
        'c\topen\nd\topen\ne\topen\n',
      )
      expect(await json('say d hello --priority 1', directory)).toMatchObject({ error: { _tag: 'Usage' } })
      for (const wrong of ['10', 'first']) {
        const { code, stderr } = await shell(`palimpsest say d hello --answer --priority ${wrong}`, directory)
        expect([code, stderr]).toEqual([2, expect.stringContaining('It must be a whole number from 0 to 9.')])
      }
      await shell('palimpsest answer e --tenant acme --priority 1', directory)
      expect((await shell('palimpsest log e --turns', directory)).stdout).toContain(
        'answer requested (tenant acme, priority 1)',
      )
    }))
})

test.each(['append c --role user --text hello', 'say c hello'])(
  'palimpsest %s --answer says that it creates a store, which the workers may not serve',
  (command) =>
    inDirectory(async (directory) => {
      const { stderr } = await shell(`palimpsest ${command} --answer`, directory)
      expect(stderr).toMatch(
        /^there is no store at sqlite:palimpsest\.db yet, so a new one is created there: .*\n$/,
      )
      expect((await shell(`palimpsest ${command} --answer`, directory)).stderr).toBe('')
    }),
)

describe('palimpsest answer', () => {
  test('asks workers to answer what was appended without a request, unless there is nothing to answer', () =>
    inDirectory(async (directory) => {
      await shell('palimpsest append a --role user --text hello', directory)
      expect(await json('answer a --tenant acme --priority 1', directory)).toEqual({ conversation: 'a' })
      expect(await json('steps', directory)).toMatchObject({
        steps: [{ conversation: 'a', state: 'open', tenant: 'acme', priority: 1 }],
      })
      await shell('palimpsest append b --role user --text hello', directory)
      await shell('palimpsest append b --role assistant --text Hello.', directory)
      expect(await json('answer b', directory)).toMatchObject({ error: { _tag: 'NothingToAnswer' } })
      expect(await json('answer nobody', directory)).toMatchObject({
        error: { _tag: 'ConversationNotFound' },
      })
      expect(await json('steps', directory)).toMatchObject({ steps: [{ conversation: 'a' }] })
    }))
})

/** The lines of a command, by default `palimpsest steps`, on a terminal of 80 columns. */
const shownIn = async (directory: string, ...command: readonly string[]): Promise<readonly string[]> => {
  let written = ''
  const screen = new Writable({
    write: (chunk: Buffer, _, done) => {
      written += chunk.toString()
      done()
    },
  })
  const code = await runCli(
    ['--store', `sqlite:${join(directory, 'palimpsest.db')}`, ...(command.length > 0 ? command : ['steps'])],
    {
      stdin: Readable.from([]),
      stdout: Object.assign(screen, { isTTY: true, columns: 80 }),
      stderr: new Writable({ write: (_, __, done) => done() }),
      env: {},
    },
  )
  expect(code).toBe(0)
  return stripVTControlCharacters(written).trimEnd().split('\n')
}

/** A step that waits a minute after a failure, and one that a worker holds. */
const withWaiting = async (directory: string): Promise<void> => {
  const events = right(await openEvents(`sqlite:${join(directory, 'palimpsest.db')}`)())
  const store = storeOn(events, { kind: 'program' })
  for (const id of ['a', 'b']) {
    const chat = store.conversation(id)
    right(await chat.append({ role: 'user', content: 'Is it there?' }, { answer: true })())
    const step = { step: 'conversation@0', worker, at: 0 }
    const begun = { type: 'TurnsBegun', data: { at: 0 } } as const
    const claimed = { type: 'TurnClaimed', data: { ...step, attempt: 1 } } as const
    const released = {
      type: 'TurnReleased',
      data: { ...step, reason: 'free', waitMs: 60_000, error },
    } as const
    right(await run(chat.turnLog.append(id === 'a' ? [begun, claimed, released] : [begun, claimed], -1)))
  }
  right(await store.close()())
}
const worker = 'worker-6513270e-269e-4d37-b2a7-4de452e6b438'
const error = `ModelFailed: ${'the key is not valid; '.repeat(6)}set another`

describe('a step that waits after a failure', () => {
  test('is listed with the time at which it is tried again, and retried at once by palimpsest retry', () =>
    inDirectory(async (directory) => {
      await withWaiting(directory)
      const { steps } = (await json('steps --open', directory)) as { steps: { nextTry: string }[] }
      expect(steps).toMatchObject([{ conversation: 'a', attempt: 0, errors: [error] }])
      const left = Date.parse(steps[0]?.nextTry ?? '') - Date.now()
      expect(left).toBeGreaterThan(0)
      expect(left).toBeLessThanOrEqual(60_000)
      expect(await json('pause a', directory)).toMatchObject({ conversation: 'a' })
      expect(await json('steps --open', directory)).toEqual({
        steps: [expect.not.objectContaining({ nextTry: expect.anything() as unknown })],
      })
      expect((await shownIn(directory))[1]).toMatch(/^a +open \(paused\) .* when resumed/)
      expect(await json('retry b', directory)).toMatchObject({ error: { _tag: 'NotParked' } })
      expect((await shell('palimpsest retry a', directory)).stdout).toBe(
        'workers may try a again, once palimpsest resume a ends its pause\n',
      )
      expect(await json('resume a', directory)).toMatchObject({ conversation: 'a' })
      expect(await json('steps --open', directory)).toEqual({
        steps: [expect.not.objectContaining({ nextTry: expect.anything() as unknown })],
      })
    }))

  test('is shown on a terminal of 80 columns with a short worker, and with its whole error below', () =>
    inDirectory(async (directory) => {
      await withWaiting(directory)
      const lines = await shownIn(directory)
      expect(lines[0]).toMatch(/^conversation +state +age +attempts +next try +worker$/)
      expect(lines[1]).toMatch(/^a +open +.* in \d+ (s|min)/)
      expect(
        lines
          .slice(2, -2)
          .map((line) => line.slice(2))
          .join(' '),
      ).toBe(error)
      expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
      expect(lines.at(-2)).toMatch(/^b +claimed .* worker-6513270e$/)
      expect(lines.at(-1)).toContain('palimpsest retry ID')
    }))

  test('is shown by palimpsest log --turns with a short worker, so that the reason has room', () =>
    inDirectory(async (directory) => {
      await withWaiting(directory)
      const lines = await shownIn(directory, 'log', 'a', '--turns')
      expect(lines.at(-2)).toContain('released by worker-6513270e (free): ModelFailed: the key')
      expect((await shell('palimpsest log a --turns', directory)).stdout).toContain(`released by ${worker} (`)
    }))
})

test('palimpsest steps with an id says how to see the steps of one conversation', () =>
  inDirectory(async (directory) => {
    const { stderr, code } = await shell('palimpsest steps a', directory)
    expect(code).toBe(2)
    expect(stderr).toContain('palimpsest log ID --turns shows those of one conversation')
  }))

test('an error that is too long for a terminal keeps its end, which says what to do', () =>
  inDirectory(async (directory) => {
    const events = right(await openEvents(`sqlite:${join(directory, 'palimpsest.db')}`)())
    const long = `ModelFailed: the call failed (${'no key '.repeat(50)}): check the API key (ANTHROPIC_API_KEY)`
    await parkStep(events, 'a', [long])
    right(await events.close()())
    const shown = (await shownIn(directory)).map((line) => line.trim()).join(' ')
    expect(shown).toContain('ModelFailed: the call failed (no key')
    expect(shown).toContain('…')
    expect(shown).toContain('check the API key (ANTHROPIC_API_KEY)')
  }))

test('an error of several steps is shown once on a terminal', () =>
  inDirectory(async (directory) => {
    const events = right(await openEvents(`sqlite:${join(directory, 'palimpsest.db')}`)())
    for (const id of ['a', 'b', 'c']) await parkStep(events, id, [id === 'c' ? 'ModelFailed: no' : error])
    right(await events.close()())
    const lines = await shownIn(directory)
    expect(lines.slice(2, 9)).toEqual([
      ...linesOf(`in 2 steps: ${error}`, 78).map((line) => `  ${line}`),
      expect.stringMatching(/^b +parked/),
      '  as for a',
      expect.stringMatching(/^c +parked/),
      '  ModelFailed: no',
    ])
    expect((await shell('palimpsest steps | cut -f6', directory)).stdout).toBe(
      `${error}\n${error}\nModelFailed: no\n`,
    )
  }))

describe('palimpsest retry', () => {
  test('opens a parked step again, with none of its attempts', () =>
    inDirectory(async (directory) => {
      await withSteps(directory)
      expect(await json('retry c', directory)).toEqual({ conversation: 'c', by: 'ann' })
      expect(await json('steps --parked', directory)).toEqual({ steps: [] })
      expect(await json('retry c', directory)).toMatchObject({
        error: { _tag: 'NotParked', conversation: 'c' },
      })
      expect(await json('steps --open', directory)).toMatchObject({
        steps: [{ conversation: 'a' }, { conversation: 'c', attempt: 0, errors: [] }],
      })
      expect(await json('retry nobody', directory)).toMatchObject({
        error: { _tag: 'ConversationNotFound' },
      })
    }))
})

describe('palimpsest retry of a step that is not parked', () => {
  test('says what the step waits for', () =>
    inDirectory(async (directory) => {
      await withSteps(directory)
      const advice = async (id: string) => (await shell(`palimpsest retry ${id}`, directory)).stderr
      expect(await advice('a')).toContain('workers may take it already; palimpsest steps --agent FILE shows')
      expect(await advice('b')).toContain('it is claimed, in progress')
      expect(await advice('d')).toContain('palimpsest answer d asks workers for an answer')
    }))
})

describe('palimpsest retry of several conversations', () => {
  test('opens all that are named, or none if one has no parked step, or all that are parked', () =>
    inDirectory(async (directory) => {
      await withSteps(directory)
      const events = right(await openEvents(`sqlite:${join(directory, 'palimpsest.db')}`)())
      for (const id of ['e', 'f', 'g']) await parkStep(events, id)
      right(await events.close()())
      const parked = async (): Promise<unknown> =>
        (await shell('palimpsest steps --parked | cut -f1 | paste -sd " "', directory)).stdout.trim()
      expect(await json('retry c a', directory)).toMatchObject({
        error: { _tag: 'NotParked', conversation: 'a' },
      })
      expect(await parked()).toBe('c e f g')
      expect(await json('retry c e', directory)).toMatchObject({ conversations: ['c', 'e'], by: 'ann' })
      expect((await shell('palimpsest retry --parked --dry-run', directory)).stdout).toBe(
        'workers could try f again\nworkers could try g again\n',
      )
      expect(await parked()).toBe('f g')
      expect((await shell('palimpsest retry --parked', directory)).stdout).toBe(
        'workers may try f again\nworkers may try g again\n',
      )
      expect(await parked()).toBe('')
      for (const command of ['retry', 'retry c --parked'])
        expect(await json(command, directory)).toMatchObject({ error: { _tag: 'Usage' } })
    }))
})

describe('palimpsest pause', () => {
  test('holds a conversation back from workers until it is resumed', () =>
    inDirectory(async (directory) => {
      await withSteps(directory)
      expect(await json('pause a --reason later', directory)).toEqual({ conversation: 'a', by: 'ann' })
      expect(await json('steps --open', directory)).toMatchObject({
        steps: [{ conversation: 'a', held: 'paused' }],
      })
      const { stdout } = await shell('palimpsest steps --open', directory)
      expect(stdout).toMatch(/^a\topen \(paused\)\t/)
      expect(await json('resume a --by bob', directory)).toEqual({ conversation: 'a', by: 'bob' })
      expect(await json('steps --open', directory)).toMatchObject({ steps: [{ conversation: 'a' }] })
      expect((await shell('palimpsest resume a', directory)).stdout).toBe(
        'a was not paused: nothing was written\n',
      )
      expect((await shell('palimpsest steps --open', directory)).stdout).toMatch(/^a\topen\t/)
      expect((await shell('palimpsest pause b', directory)).stdout).toBe(
        'b is paused; its turn in progress continues: palimpsest cancel b ends it\n',
      )
      expect(await json('pause nobody', directory)).toMatchObject({ error: { _tag: 'ConversationNotFound' } })
      expect(await json('pause --worker nobody', directory)).toMatchObject({
        error: { _tag: 'WorkerNotFound', worker: 'nobody' },
      })
    }))
})

describe('palimpsest steps --agent', () => {
  test('shows which steps the policy of the workers holds back', () =>
    inDirectory(async (directory) => {
      await withSteps(directory)
      writeFileSync(
        join(directory, 'agent.mjs'),
        'export default { turn: () => ({}), policy: { default: { limit: 1 } } }',
      )
      expect(await json('steps --open --agent agent.mjs', directory)).toMatchObject({
        steps: [{ conversation: 'a', held: 'limit' }],
      })
    }))

  test('says that retry has no effect on a step whose budget is spent', () =>
    inDirectory(async (directory) => {
      await withSteps(directory)
      const spent = "policy: { default: { budget: { usd: 1, per: 'day' } }, prices: {} }"
      const agent = join(directory, 'agent.mjs')
      writeFileSync(agent, `export default { turn: () => ({}), ${spent} }`)
      const reply = { role: 'assistant', content: 'Yes.' } as const
      const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
      const origin = { kind: 'model', model: 'unpriced', usage: { input_tokens: 1, output_tokens: 1 } }
      await store.conversation('a').append({ ...reply, origin })
      await store.conversation('a').append({ role: 'user', content: 'And now?' }, { answer: true })
      await store.close()
      const lines = await shownIn(directory, 'steps', '--agent', agent)
      expect(lines.find((line) => /^a +open \(budget\) .* in \d+ (h|min|s)/.test(line))).toBeDefined()
      expect(lines).toContain('budget: spent until the next try; retry has no effect before that')
      expect(lines.join('\n')).not.toContain('retry ID lets workers try a step at once')
    }))
})
