import type { RecordedTurnFact } from '../../events/turn-events.ts'
import { shortIds } from '../short-ids.ts'
import type { TextSpan } from '../text.ts'
import { termsText } from './answer-terms.ts'
import { firstLine } from './content.ts'
import { labelPart, positionPart } from './items.ts'

/** Short forms of the ids of workers. */
type ShortWorkers = ReadonlyMap<string, string>

/** Returns the short forms of the workers that records of turns name, so that a line has room for what comes after them. */
export const shortWorkersIn = (facts: readonly RecordedTurnFact[]): ShortWorkers =>
  shortIds([...new Set(facts.flatMap(({ data }) => ('worker' in data ? data.worker : [])))])

/** Formats a record of a turn as a line: the position that the conversation had reached, what happened, by whom, and why. */
export const turnFactParts = (
  fact: RecordedTurnFact,
  withTime: boolean,
  workers?: ShortWorkers,
): readonly TextSpan[] => [
  positionPart(Math.max(0, fact.data.at)),
  ...(withTime ? ([[`${fact.metadata.time.slice(0, 19).replace('T', ' ')}  `, 'dim']] as const) : []),
  ['·  ', 'dim'],
  labelPart('turn', 'dim'),
  [factText(fact, workers), fact.type === 'CallDecided' || fact.type === 'TurnCancelled' ? 'marker' : 'dim'],
]

const because = (reason: string | undefined): string => (reason === undefined ? '' : `: ${firstLine(reason)}`)
const byWhom = (by: string | undefined): string => (by === undefined ? '' : ` by ${by}`)

const factText = (fact: RecordedTurnFact, workers: ShortWorkers = new Map()): string => {
  const short = (worker: string): string => workers.get(worker) ?? worker
  switch (fact.type) {
    case 'TurnsBegun':
      return 'first record of a turn'
    case 'ToolStarted':
      return `${fact.data.call} started: ${fact.data.tool} (${fact.data.effect})`
    case 'CallsWaiting': {
      const { calls, why, withdrawn, until } = fact.data
      const what = why === 'approval' ? 'an approval' : 'a result'
      const again = withdrawn ? `; approval withdrawn by ${withdrawn.by}${because(withdrawn.reason)}` : ''
      return `${calls.join(', ')} waits for ${what}${until === undefined ? '' : ` until ${until}`}${again}`
    }
    case 'CallDecided': {
      const { call, decision, by, reason, note } = fact.data
      return `${call} ${decision} by ${by}${because(reason ?? note)}`
    }
    case 'TurnCancelled':
      return `cancelled${byWhom(fact.data.by)}${because(fact.data.reason)}`
    case 'TurnRequested': {
      const terms = termsText(fact.data)
      return `answer requested${terms && ` (${terms})`}`
    }
    case 'TurnClaimed':
      return `claimed by ${short(fact.data.worker)}, attempt ${fact.data.attempt}`
    case 'TurnReleased':
      return `released by ${short(fact.data.worker)} (${fact.data.reason})${because(fact.data.error)}`
    case 'TurnParked':
      return `parked after ${fact.data.attempts} attempts${because(fact.data.errors.at(-1))}`
    case 'TurnUnparked':
      return `retried by ${fact.data.by}${because(fact.data.reason)}`
    case 'TurnsPaused':
      return `paused by ${fact.data.by}${because(fact.data.reason)}`
    case 'TurnsResumed':
      return `resumed by ${fact.data.by}${because(fact.data.reason)}`
  }
}
