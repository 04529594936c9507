import { setTimeout as sleep } from 'node:timers/promises'
import { plural } from '../../src/cli/text.ts'
import type { Conversation, Roster, Store } from '../../src/index.ts'
import type { Death } from './audit.ts'
import type { Crew } from './crew.ts'
import { type Deeds, talk } from './people.ts'
import { type News, shortId, shortWorker } from './scene.ts'
import type { Screen } from './screen.ts'

/** Where it is played. */
interface Stage {
  readonly store: Store
  readonly crew: Crew
  readonly chats: readonly Conversation[]
  /** What the ids of the conversations and of the workers begin with. */
  readonly name: string
  readonly seconds: number
}

export interface Played extends Deeds {
  readonly deaths: readonly Death[]
  readonly answered: number
  readonly seconds: number
}

const look = 200
/** How long the last answers may take, in milliseconds. */
const patience = 30_000

/** People talk, and somebody kills, until the time is over or the signal aborts; then what is open is still answered. */
export const play = async (
  { store, crew, chats, name, seconds }: Stage,
  { screen, signal }: { readonly screen: Screen; readonly signal: AbortSignal },
): Promise<Played> => {
  await crew.started
  const began = performance.now()
  const deeds: Deeds = { asked: 0, rewound: 0 }
  const deaths: Death[] = []
  const news: News[] = []
  const rates: number[] = []
  let roster: Roster | undefined
  let looked = Promise.withResolvers<Roster>()
  const quiet = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)])
  const over = new AbortController()

  const tell = (text: string, isBad = false): void => {
    const each = { at: performance.now(), text, isBad }
    news.push(each)
    screen.tell(each, began)
  }
  const answered = (): number => crew.seats.reduce((sum, seat) => sum + seat.answered, 0)

  const draw = (): void => {
    const now = performance.now()
    const second = Math.floor((now - began) / 1_000)
    const before = rates.slice(0, second).reduce((sum, rate) => sum + rate, 0)
    while (rates.length <= second) rates.push(0)
    rates[second] = answered() - before
    const isEnding = quiet.aborted
    const killed = deaths.length
    const conversations = chats.length
    const { seats } = crew
    screen.draw({ began, now, seconds, conversations, seats, deeds, killed, roster, rates, news, isEnding })
  }

  const watch = async (): Promise<void> => {
    for await (const all of store.workers({ every: look, signal: over.signal })) {
      roster = {
        ...all,
        steps: all.steps.filter(({ conversation }) => conversation.startsWith(`${name}-`)),
      }
      looked.resolve(roster)
      looked = Promise.withResolvers()
      draw()
    }
  }

  const isBusy = ({ steps }: Roster, id: string): boolean => steps.some((step) => step.conversation === id)
  /** Only a look that began after the words were said says whether they are answered: that is the second from now. */
  const whenAnswered = async (id: string, ms: number): Promise<boolean> => {
    const until = performance.now() + ms
    await looked.promise
    while (isBusy(await looked.promise, id)) if (performance.now() >= until) return false
    return true
  }

  const killing = async (): Promise<void> => {
    for (;;) {
      await sleep(1_500 + Math.random() * 2_000, undefined, { signal: quiet })
      // On a slow machine, processes that have only just begun would die of the next kill, and nobody would take anything over.
      if (crew.seats.some(({ pid }) => pid === undefined)) continue
      const worker = crew.kill()
      if (worker === undefined) continue
      deaths.push({ worker, at: Date.now() })
      await follow(worker)
    }
  }
  /** Says what becomes of the conversations that a dead worker has left. */
  const follow = async (worker: string): Promise<void> => {
    const steps = roster?.workers.find((one) => one.worker === worker)?.steps ?? []
    const left = new Set(steps.map(({ conversation }) => conversation))
    const work =
      left.size > 0 ? `in the middle of ${plural(left.size, 'conversation')}` : 'while it had no work'
    tell(`${shortWorker(worker)} is killed (kill -9) ${work}`, true)
    const at = performance.now()
    const isLeft = ({ conversation, state, holder }: Roster['steps'][number]): boolean =>
      holder === worker || (state === 'open' && left.has(conversation))
    while ((await looked.promise).steps.some(isLeft)) continue
    if (left.size > 0)
      tell(`others have taken over, ${((performance.now() - at) / 1_000).toFixed(1)} s later`)
  }

  const watching = watch()
  void killing().catch(() => {})
  const onRewind = (id: string): void => tell(`somebody takes back what they said in ${shortId(id)}`)
  const surroundings = { answered: whenAnswered, onRewind, signal: quiet }
  await Promise.all(chats.map((chat) => talk(chat, deeds, surroundings)))
  const patient = performance.now() + patience
  while ((roster?.steps.length ?? 0) > 0 && performance.now() < patient) await looked.promise
  over.abort()
  await watching
  return { ...deeds, deaths, answered: answered(), seconds: (performance.now() - began) / 1_000 }
}
