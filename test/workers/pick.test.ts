import { describe, expect, test } from 'vitest'
import type { Asked } from '../../src/events/events.ts'
import type { RecordedEvent } from '../../src/store/port.ts'
import { type Known, knownBy } from '../../src/workers/known.ts'
import { type Me, pick, type Picked } from '../../src/workers/pick.ts'

const me = {
  worker: 'me',
  ttl: 10_000,
  rankWait: 25,
  tardy: new Map<string, number>(),
  isBusyWith: () => false,
}

interface Story {
  readonly known: Known
  readonly ask: (conversation: string, answer?: Asked) => void
  readonly claim: (conversation: string, worker: string, attempt?: number) => void
  readonly beat: (worker: string) => void
  readonly stopped: (worker: string) => void
  readonly pass: (ms: number) => void
  readonly picked: () => string | undefined
  readonly lookIn: () => number
  /** The model's last word in a conversation. */
  readonly reply: (conversation: string) => void
  /** What a worker would do if it knew of no other conversation. */
  readonly pickFor: (conversation: string, who?: Me) => Picked
}

const story = (): Story => {
  const known = knownBy(() => true)
  const revisions = new Map<string, number>()
  let now = 0
  let count = 0
  const record = (stream: string, type: string, data: object, more: object = {}): void => {
    const revision = (revisions.get(stream) ?? -1) + 1
    revisions.set(stream, revision)
    const metadata = JSON.stringify({ commandId: `c${count++}`, time: '2026-01-01T00:00:00.000Z', ...more })
    const event: RecordedEvent = {
      id: `e${count}`,
      stream,
      revision,
      checkpoint: String(count),
      type,
      data: JSON.stringify(data),
      metadata,
    }
    known.see(event, now)
  }
  return {
    known,
    ask: (conversation, answer = true) =>
      record(`conversation-${conversation}`, 'MessageAppended', { role: 'user', content: [] }, { answer }),
    claim: (conversation, worker, attempt = 1) => {
      const step = known.steps.get(conversation)?.name
      record(`turns-${conversation}`, 'TurnClaimed', { step, worker, attempt })
    },
    beat: (worker) => record(`worker-${worker}`, 'WorkerBeat', { slots: 1, busy: 0 }),
    stopped: (worker) => record(`worker-${worker}`, 'WorkerStopped', {}),
    pass: (ms) => {
      now += ms
    },
    picked: () => pick(known, me, now).conversation,
    lookIn: () => pick(known, me, now).lookAt - now,
    reply: (conversation) =>
      record(`conversation-${conversation}`, 'MessageAppended', { role: 'assistant', content: [] }),
    pickFor: (conversation, who = me) =>
      pick(known, { ...who, isBusyWith: (other) => other !== conversation }, now),
  }
}

describe('which step a worker takes', () => {
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
        expect(picked()).toBe('c0')
        for (const chat of chats) claim(chat, `other${attempt}`, attempt)
        if (how === 'said') stopped(`other${attempt}`)
        else pass(me.ttl)
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
    const late = { ...me, tardy: new Map([['other', known.workers.get('other')?.heardAt ?? 0]]) }
    ask(`c${passed}`)
    expect(pickFor(`c${passed}`, late).passed).toEqual([])
    expect(pickFor(`c${passed}`, late).conversation).toBeDefined()
    beat('other')
    expect(pickFor(`c${passed}`, late).conversation).toBeUndefined()
  })
})
