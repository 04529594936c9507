import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openEvents, storeOn } from '../../src/api/open.ts'
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
        'a\topen\tTIME\t0\t\t',
        'b\tclaimed\tTIME\t1\tw1\t',
        'c\tparked\tTIME\t0\t\tModelFailed: no␊key',
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

describe('palimpsest append and say', () => {
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

describe('palimpsest answer', () => {
  test('asks workers to answer what was appended without a request, unless there is nothing to answer', () =>
    inDirectory(async (directory) => {
      await shell('palimpsest append a --role user --text hello', directory)
      expect(await json('answer a', directory)).toEqual({ conversation: 'a' })
      expect(await json('steps', directory)).toMatchObject({ steps: [{ conversation: 'a', state: 'open' }] })
      await shell('palimpsest append b --role user --text hello', directory)
      await shell('palimpsest append b --role assistant --text Hello.', directory)
      expect(await json('answer b', directory)).toMatchObject({ error: { _tag: 'NothingToAnswer' } })
      expect(await json('answer nobody', directory)).toMatchObject({
        error: { _tag: 'ConversationNotFound' },
      })
      expect(await json('steps', directory)).toMatchObject({ steps: [{ conversation: 'a' }] })
    }))
})

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
})
