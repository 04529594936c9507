import * as E from 'fp-ts/lib/Either.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openStore as openTask } from '../../src/fp.ts'
import { openStore, type RewindStep, type StoreOptions } from '../../src/index.ts'
import { workspaceOf } from '../../src/projections/workspace.ts'
import { atEnd } from '../support/at-end.ts'
import { runs } from '../support/runs.ts'

const workspace = { kind: 'git', commit: '3f2a1c4' } as const
const said = (content: string) => ({ role: 'user', content }) as const

/** A conversation of four messages, of which the second one has a workspace; and the calls of both functions. */
const scene = async (hooks: StoreOptions = {}) => {
  const calls: unknown[] = []
  const store = await openStore('memory:', {
    beforeRewind: (step) => void calls.push(['before', step]),
    afterRewind: (step) => void calls.push(['after', step]),
    ...hooks,
  })
  atEnd(store.close)
  const chat = store.conversation('c')
  for (const n of [0, 1, 2, 3]) await chat.append(said(String(n)), n === 1 ? { workspace } : {})
  return { chat, calls }
}

describe('the functions around a rewind', () => {
  it('are called with the target, and the state of the files there', async () => {
    const { chat, calls } = await scene()
    await chat.rewind({ turns: 2 })
    const step = { conversation: 'c', from: 3, to: 1, workspace }
    expect(calls).toEqual([
      ['before', step],
      ['after', step],
    ])
  })

  it('know no files before the first state that was recorded, nor in the empty conversation', async () => {
    const { chat, calls } = await scene()
    await chat.rewind({ to: 0 })
    await chat.rewind({ to: -1 })
    expect(calls.filter((_, index) => index % 2 === 0)).toEqual([
      ['before', { conversation: 'c', from: 3, to: 0 }],
      ['before', { conversation: 'c', from: 4, to: -1 }],
    ])
  })

  it('know the state of the files of an abandoned branch', async () => {
    const { chat, calls } = await scene()
    await chat.rewind({ to: 0 })
    await chat.undo()
    expect(calls.at(-1)).toEqual(['after', { conversation: 'c', from: 4, to: 3, workspace }])
  })

  it('are called for every way to rewind, and for nothing else', async () => {
    const { chat, calls } = await scene()
    await chat.append(said('on a branch'), { branchAt: 0 })
    await chat.truncate({ keepFirst: 1, keepLast: 1 })
    await chat.preview({ type: 'rewind', to: 0 })
    await chat.append(said('in order'), { rewindTo: 0, again: [] })
    expect(calls).toEqual([])
    await chat.execute({ type: 'rewind', to: 2 })
    await chat.append(said('instead'), { rewindTo: 1 })
    await chat.say(said('instead of that'), { whileBusy: 'rollback' })
    expect(calls).toHaveLength(6)
  })

  it('are not called again for a repeated command', async () => {
    const { chat, calls } = await scene()
    const first = await chat.rewind({ to: 1, commandId: 'r' })
    expect(await chat.rewind({ to: 1, commandId: 'r' })).toEqual(first)
    expect(calls).toHaveLength(2)
  })
})

describe('a function before a rewind that throws', () => {
  it('refuses the rewind: nothing is written, and the next command works', async () => {
    const refusal = new Error('save your files first')
    const { chat, calls } = await scene({ beforeRewind: () => Promise.reject(refusal) })
    await expect(chat.rewind({ to: 1 })).rejects.toBe(refusal)
    expect(await chat.position()).toBe(3)
    expect(calls).toEqual([])
    expect(await chat.append(said('4'))).toMatchObject({ position: 4 })
  })
})

describe('a function after a rewind', () => {
  it('may write to the conversation, although other writes wait', async () => {
    const store = await openStore('memory:', {
      afterRewind: async ({ conversation, to }) =>
        void (await store.conversation(conversation).append(said(`back at ${to}`))),
    })
    atEnd(store.close)
    const chat = store.conversation('c')
    await chat.append([said('0'), said('1')])
    await Promise.all([chat.rewind({ to: 0 }), chat.append(said('meanwhile'))])
    expect(await chat.position()).toBe(4)
  })

  it('that throws leaves the rewind in place', async () => {
    const fault = new Error('no git')
    const { chat } = await scene({ afterRewind: () => Promise.reject(fault) })
    await expect(chat.rewind({ to: 1 })).rejects.toBe(fault)
    expect((await chat.effective()).map(({ position }) => position)).toEqual([0, 1])
  })
})

describe('the options of a store', () => {
  it('refuse a function that is none', async () => {
    const opened = await openTask('memory:', { beforeRewind: 'ask' as never })()
    expect(E.isLeft(opened) && opened.left).toMatchObject({
      _tag: 'InvalidInput',
      message: 'beforeRewind: must be a function',
    })
  })
})

describe('the state of the files at the target of any rewind', () => {
  const message = fc.option(fc.constantFrom('a', 'b', 'c').map((digit) => digit.repeat(40)))
  const action = fc.oneof(message, fc.record({ back: fc.nat() }))

  it('is that of the path there', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 40 }), async (actions) => {
        const { chat, calls } = await scene()
        for (const one of actions)
          if (one === null) await chat.append(said('nothing'))
          else if (typeof one === 'string')
            await chat.append(said(one), { workspace: { kind: 'git', commit: one } })
          else
            await chat
              .rewind({ to: one.back % ((await chat.position()) + 1) })
              // A rewind to where the conversation is already is refused.
              .catch((error: unknown) => expect(error).toMatchObject({ _tag: 'NothingToRewind' }))
        for (const call of calls) {
          const [, step] = call as [string, RewindStep]
          const there = (await chat.timeline({ at: step.to })).filter(({ onPath }) => onPath)
          expect(step.workspace).toEqual(workspaceOf(there.map(({ event }) => event))?.workspace)
        }
      }),
      { numRuns: runs(40) },
    )
  })
})
