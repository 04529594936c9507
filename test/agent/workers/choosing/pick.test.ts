import { describe, expect, test } from 'vitest'
import { story, type Story } from '../../../support/workers/story.ts'

describe('which step a worker takes', () => {
  test('the oldest first', () => {
    const { ask, pass, picked } = story()
    ask('one')
    pass(1)
    ask('two')
    expect(picked()).toBe('one')
  })

  test('what was lost, failed or let go of keeps the place that it had', () => {
    for (const lose of ['stopped', 'failed', 'free'] as const) {
      const { ask, claim, release, stopped, pass, picked } = story()
      ask('one')
      pass(1)
      ask('two')
      claim('one', 'other')
      pass(1)
      if (lose !== 'stopped') release('one', 'other', lose)
      // Otherwise it would be the first for what it had last.
      stopped('other')
      expect(picked()).toBe('one')
    }
  })

  test('what was lost in the middle of a turn waits since that was asked for', () => {
    const { ask, claim, goOn, stopped, pass, picked } = story()
    ask('one', { priority: 1 })
    claim('one', 'other')
    pass(60_001)
    goOn('one')
    ask('two')
    stopped('other')
    expect(picked()).toBe('one')
  })

  test('who says more while it waits keeps the place; who was answered is the last again', () => {
    const { ask, claim, reply, pass, picked } = story()
    ask('one')
    pass(1)
    ask('two')
    pass(1)
    ask('one')
    expect(picked()).toBe('one')
    claim('one', 'other')
    reply('one')
    pass(1)
    ask('one')
    expect(picked()).toBe('two')
  })

  test('what its workers die of waits for the same place, and does not come before it may', () => {
    const { ask, claim, stopped, pass, picked } = story()
    ask('kills')
    pass(1)
    ask('two')
    for (const worker of ['v', 'w']) {
      claim('kills', worker)
      stopped(worker)
    }
    expect(picked()).toBe('two')
    pass(8_001)
    expect(picked()).toBe('kills')
  })

  test('the class with the lower number first, whatever is older', () => {
    const { ask, pass, picked } = story()
    ask('batch', { priority: 2 })
    pass(1_000)
    ask('person')
    expect(picked()).toBe('person')
  })

  test('a step that has waited for a minute rises by a class', () => {
    const { ask, pass, picked } = story()
    ask('batch', { priority: 1 })
    pass(60_001)
    ask('person')
    expect(picked()).toBe('batch')
  })

  test('the tenant with the fewest steps in work comes first', () => {
    const { ask, claim, pass, picked } = story()
    ask('one', { tenant: 'big' })
    claim('one', 'other')
    ask('two', { tenant: 'big' })
    pass(10)
    ask('three', { tenant: 'small' })
    pass(100)
    expect(picked()).toBe('three')
  })

  test('what another holds is free once that is silent for the TTL, and not before', () => {
    const { ask, claim, pass, picked, lookIn } = story()
    ask('c')
    claim('c', 'other')
    pass(9_999)
    expect(picked()).toBeUndefined()
    expect(lookIn()).toBe(1)
    pass(1)
    expect(picked()).toBe('c')
  })

  test('a beat gives its worker the whole TTL again, and so does a reconnect', () => {
    const { known, ask, claim, beat, pass, picked } = story()
    ask('c')
    claim('c', 'other')
    pass(9_000)
    beat('other')
    pass(9_000)
    expect(picked()).toBeUndefined()
    known.reconnected(18_000)
    pass(9_000)
    expect(picked()).toBeUndefined()
    pass(1_001)
    expect(picked()).toBe('c')
  })

  test('an event of somebody else, in a stream of such a name, says nothing', () => {
    const { known, ask, picked } = story()
    const strange = { id: 'x', type: 'Strange', data: 'not JSON', metadata: '"answer": no', checkpoint: '0' }
    for (const stream of ['worker-x', 'turns-x', 'inbox-x', 'conversation-x'])
      known.see({ ...strange, stream, revision: 0 }, 0)
    expect([...known.steps.keys()]).toEqual([])
    ask('c')
    expect(picked()).toBe('c')
  })

  test('what a worker held that is said to have ended is free at once', () => {
    const { ask, claim, stopped, picked } = story()
    ask('c')
    claim('c', 'other')
    stopped('other')
    expect(picked()).toBe('c')
  })

  test.each(['said', 'noticed'])(
    'steps whose workers have died twice are not taken together again: one may be what they died of (%s)',
    (how) => {
      const { ask, claim, stopped, pass, picked, lookIn } = story()
      const chats = Array.from({ length: 20 }, (_, n) => `c${n}`)
      for (const chat of chats) ask(chat)
      for (const attempt of [1, 2]) {
        expect(picked()).toBeDefined()
        for (const chat of chats) claim(chat, `other${attempt}`, attempt)
        if (how === 'said') stopped(`other${attempt}`)
        else pass(10_000)
      }
      const times: number[] = []
      for (let now = 0; times.length < chats.length; now += lookIn(), pass(lookIn())) {
        const chat = picked()
        if (chat === undefined) continue
        times.push(now)
        claim(chat, 'me', 3)
      }
      expect(new Set(times).size).toBe(chats.length)
      expect(Math.max(...times)).toBeLessThanOrEqual(2_000)
    },
  )

  test('each conversation has its own order of workers: one that is not the first waits a moment for it', () => {
    const looks = Array.from({ length: 20 }, (_, n) => {
      const { ask, beat, pass, picked, lookIn } = story()
      beat('other')
      ask(`c${n}`)
      if (picked() !== undefined) return 0
      const wait = lookIn()
      pass(wait)
      expect(picked()).toBe(`c${n}`)
      return wait
    })
    expect(new Set(looks)).toEqual(new Set([0, 25]))
  })

  /** Whether this worker takes some step at once, of many for which another comes first, if anybody waits for that. */
  const isWaitedFor = (tell: (scene: Story) => void): boolean =>
    Array.from({ length: 20 }, (_, n) => {
      const scene = story()
      tell(scene)
      scene.ask(`c${n}`)
      return scene.picked()
    }).includes(undefined)

  test('an idle worker is waited for as long as its next beat is not overdue', () => {
    const idleFor = (ms: number): boolean =>
      isWaitedFor(({ beat, pass }) => {
        beat('other')
        pass(ms)
      })
    expect(idleFor(60_000)).toBe(true)
    expect(idleFor(70_001)).toBe(false)
  })

  test('a worker is waited for while it holds fewer conversations than it has slots, whatever its last beat said', () => {
    expect(
      isWaitedFor(({ ask, claim, beat }) => {
        beat('other')
        ask('one')
        claim('one', 'other')
      }),
    ).toBe(false)
    expect(
      isWaitedFor(({ ask, claim, beat, reply }) => {
        beat('other')
        ask('one')
        claim('one', 'other')
        beat('other')
        reply('one')
      }),
    ).toBe(true)
  })

  test('a worker that was waited for, and did not come, is not waited for again until it says something', () => {
    const { known, ask, beat, pass, pickFor } = story()
    beat('other')
    const passed = Array.from({ length: 20 }, (_, n) => n).find((n) => {
      ask(`c${n}`)
      pass(25)
      return pickFor(`c${n}`).passed.length > 0
    })
    const late = { tardy: new Map([['other', known.workers.get('other')?.heardAt ?? 0]]) }
    ask(`c${passed}`)
    expect(pickFor(`c${passed}`, late).passed).toEqual([])
    expect(pickFor(`c${passed}`, late).conversation).toBeDefined()
    beat('other')
    expect(pickFor(`c${passed}`, late).conversation).toBeUndefined()
  })

  test('of what has waited for long, each worker takes what comes to it first, even if others have no slot now', () => {
    const { known, ask, claim, beat, pass, pickFor } = story()
    const workers = ['me', 'other', 'third']
    for (const worker of workers) beat(worker)
    for (const worker of workers) {
      ask(`of-${worker}`)
      claim(`of-${worker}`, worker)
    }
    for (let n = 0; n < 30; n++) ask(`c${n}`)
    pass(1_000)
    const picked = workers.map((worker) => pickFor('', { worker, isBusyWith: () => false }).conversation)
    expect(new Set(picked).size).toBe(3)
    // Nobody else comes: it takes all.
    const rest = [...known.steps.keys()].filter((conversation) => conversation.startsWith('c'))
    const taken = new Set<string>()
    for (const _ of rest) {
      const { conversation } = pickFor('', { isBusyWith: (id) => taken.has(id) })
      if (conversation !== undefined) taken.add(conversation)
    }
    expect(taken.size).toBe(30)
  })
})

test('what comes to a busy worker first, the others take in orders of their own: so they do not claim the same', () => {
  const { ask, claim, reply, beat, pass, pickFor } = story()
  const workers = ['busy', 'ann', 'bob', 'eve']
  const chats = Array.from({ length: 20 }, (_, n) => `c${n}`)
  for (const worker of workers) beat(worker)
  for (const chat of chats) {
    ask(chat)
    claim(chat, 'busy')
    reply(chat)
  }
  for (const worker of workers) {
    ask(`of-${worker}`)
    claim(`of-${worker}`, worker)
  }
  for (const chat of chats) ask(chat)
  pass(1_000)
  const isBusyWith = (chat: string): boolean => !chats.includes(chat)
  const [first, ...others] = workers.map((worker) => pickFor('', { worker, isBusyWith }).conversation)
  expect(first).toBe('c0')
  expect(chats).toEqual(expect.arrayContaining(others))
  expect(new Set([first, ...others]).size).toBe(4)
})

test('a step that comes to a busy worker first is not passed by those that are a minute younger', () => {
  const { ask, claim, beat, pass, picked, reply } = story()
  beat('busy')
  ask('long')
  claim('long', 'busy')
  const old = Array.from({ length: 20 }, (_, n) => `old${n}`)
  for (const id of old) ask(id)
  for (let n = 0; n < 7; n++) {
    pass(9_000)
    beat('busy')
  }
  for (let n = 0; n < 20; n++) ask(`new${n}`)
  pass(1_000)
  const order = old.map(() => {
    const next = picked() ?? ''
    claim(next, 'me')
    reply(next)
    return next
  })
  expect(order.toSorted()).toEqual(old.toSorted())
})

describe('who held a conversation last', () => {
  /** A conversation, answered by `other`, in which somebody has said more. */
  const again = (options = {}) => {
    const told = story(options)
    const { ask, claim, reply, beat } = told
    beat('other')
    beat('me')
    ask('c')
    claim('c', 'other')
    reply('c')
    ask('c')
    return told
  }
  /** How long another waits for it. */
  const waits = ({ picked, lookIn }: ReturnType<typeof story>): number =>
    picked() === undefined ? lookIn() : 0

  test('is first in line for the next message: its prompt cache is warm', () => {
    const told = again()
    expect(waits(told)).toBe(25)
    expect(told.picked('other')).toBe('c')
    told.pass(25)
    expect(told.picked()).toBe('c')
  })

  test('is not waited for while all its slots are in use, as soon as its claims say so', () => {
    const told = again({ slots: 2 })
    for (const id of ['d', 'e']) {
      expect(waits(told)).toBe(25)
      told.ask(id)
      told.claim(id, 'other')
    }
    expect(waits(told)).toBe(0)
    told.reply('d')
    told.beat('me')
    expect(waits(told)).toBe(25)
  })

  test('is not waited for once it has stopped, or is paused', () => {
    for (const end of ['stopped', 'pauseWorker'] as const) {
      const told = again()
      told[end]('other')
      expect(waits(told)).toBe(0)
    }
  })

  test('is first again after an attempt that failed', () => {
    const told = again()
    told.claim('c', 'me')
    told.release('c', 'me', 'failed')
    expect(waits(told)).toBe(0)
    expect(told.picked('other')).toBeUndefined()
  })
})
