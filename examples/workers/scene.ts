import { pad, plural, type TextSpan } from '../../src/cli/text.ts'
import type { Roster } from '../../src/index.ts'
import type { Seat } from './crew.ts'
import type { Deeds } from './people.ts'

/** What is shown of the demo at one moment. Times in milliseconds, by `performance.now()`. */
export interface Scene {
  readonly began: number
  readonly now: number
  readonly seconds: number
  readonly conversations: number
  readonly seats: readonly Seat[]
  readonly deeds: Deeds
  readonly killed: number
  /** What the log says; undefined until it was read. */
  readonly roster: Roster | undefined
  /** Conversations answered in each second so far, the present one last. */
  readonly rates: readonly number[]
  /** What has happened, the newest last. */
  readonly news: readonly News[]
  /** Nobody asks any more: what is open is still answered. */
  readonly isEnding: boolean
}

export interface News {
  readonly at: number
  readonly text: string
  readonly isBad: boolean
}

/** How many lines of news are shown. */
const newest = 6

const secondsText = (ms: number): string => `${(Math.max(0, ms) / 1_000).toFixed(1)} s`

/** The number of a conversation, without what all have in common. */
export const shortId = (conversation: string): string => `#${conversation.split('-').at(-1)}`
/** The beginning of what is random in a worker's id. */
export const shortWorker = (worker: string): string => worker.slice(-12)

/** The frame that a terminal shows, line by line. */
export const frameOf = (scene: Scene): readonly (readonly TextSpan[])[] => {
  const { seats, news, began } = scene
  return [
    headOf(scene),
    [],
    [['  worker         process  answered  works on', 'dim']],
    ...seats.map((seat) => seatLine(seat, scene)),
    [],
    rateLine(scene),
    stepsLine(scene),
    [],
    ...news
      .slice(-newest)
      .map(({ at, text, isBad }): readonly TextSpan[] => [
        [secondsText(at - began).padStart(8), 'dim'],
        isBad ? [`  ${text}`, 'warning'] : [`  ${text}`],
      ]),
  ]
}

const headOf = ({ began, now, seconds, conversations, seats, isEnding }: Scene): readonly TextSpan[] => [
  ['  palimpsest work', 'bold'],
  [`  ${plural(seats.length, 'process', 'processes')}, ${plural(conversations, 'conversation')}   `],
  [
    isEnding ? 'nobody asks any more: the last answers' : `${secondsText(now - began)} of ${seconds} s`,
    'dim',
  ],
]

const seatLine = ({ worker, pid, answered, died }: Seat, { roster, now }: Scene): readonly TextSpan[] => {
  const count = String(answered).padStart(8)
  if (worker === undefined) {
    const left = died ? died.at + died.restartIn - now : 0
    const next = left > 0 ? `the next one starts in ${secondsText(left)}` : 'the next one starts'
    const what = died ? `killed; ${next}` : 'starts'
    return [[pad('  ✗', 26), 'warning'], [count], [`  ${what}`, 'warning']]
  }
  const held = roster?.workers.find((one) => one.worker === worker)?.steps ?? []
  const chips = held.flatMap(({ conversation, attempt, since }): readonly TextSpan[] => [
    [`  ${shortId(conversation)}`, attempt > 1 ? 'marker' : 'user'],
    [` ${((Date.now() - Date.parse(since)) / 1_000).toFixed(1)}`, 'dim'],
  ])
  return [[`  ${shortWorker(worker)}`, 'position'], [String(pid).padStart(10)], [count], ...chips]
}

const bars = '▁▂▃▄▅▆▇█'
const shownSeconds = 30

const rateLine = ({ rates }: Scene): readonly TextSpan[] => {
  const whole = rates.slice(0, -1).slice(-shownSeconds)
  const most = Math.max(1, ...whole)
  const drawn = whole.map((rate) => bars[Math.round((rate / most) * (bars.length - 1))] ?? '')
  const mean = recentRate(rates)
  return [[`  ${mean.toFixed(1).padStart(5)} answers a second  `], [drawn.join(''), 'system']]
}

/** Answers a second, over the last five seconds. */
export const recentRate = (rates: readonly number[]): number => {
  const last = rates.slice(0, -1).slice(-5)
  return last.reduce((sum, rate) => sum + rate, 0) / Math.max(1, last.length)
}

/** How many conversations wait for a worker, for how long the oldest has, and how many a worker has. */
export const stepsIn = (roster: Roster | undefined) => {
  const open = (roster?.steps ?? []).filter(({ state }) => state === 'open')
  const claimed = (roster?.steps ?? []).filter(({ state }) => state === 'claimed').length
  const [oldest] = open
  const age = oldest ? ` (the oldest for ${secondsText(Date.now() - Date.parse(oldest.since))})` : ''
  return { open: open.length, age, claimed }
}

const stepsLine = ({ roster, deeds: { asked, rewound }, killed }: Scene): readonly TextSpan[] => {
  const { open, age, claimed } = stepsIn(roster)
  const taken = (roster?.steps ?? []).filter(
    ({ state, attempt }) => state === 'claimed' && attempt > 1,
  ).length
  return [
    [`  ${open} open${age}, ${claimed} claimed`],
    [taken > 0 ? `, ${taken} of them taken over` : '', 'marker'],
    [`   ${asked} asked, ${rewound} taken back, ${killed} killed`, 'dim'],
  ]
}
