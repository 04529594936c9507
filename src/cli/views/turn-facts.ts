import type { RecordedTurnFact } from '../../events/turn-events.ts'
import type { TextSpan } from '../text.ts'
import { firstLine } from './content.ts'
import { labelPart, positionPart } from './items.ts'

/** Formats a record of a turn as a line: the position that the conversation had reached, what happened, by whom, and why. */
export const turnFactParts = (fact: RecordedTurnFact, withTime: boolean): readonly TextSpan[] => [
  positionPart(Math.max(0, fact.data.at)),
  ...(withTime ? ([[`${fact.metadata.time.slice(0, 19).replace('T', ' ')}  `, 'dim']] as const) : []),
  ['·  ', 'dim'],
  labelPart('turn', 'dim'),
  [factText(fact), fact.type === 'CallDecided' || fact.type === 'TurnCancelled' ? 'marker' : 'dim'],
]

const because = (reason: string | undefined): string => (reason === undefined ? '' : `: ${firstLine(reason)}`)
const byWhom = (by: string | undefined): string => (by === undefined ? '' : ` by ${by}`)

const factText = (fact: RecordedTurnFact): string => {
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
    case 'TurnRequested':
      return 'answer requested'
    case 'TurnClaimed':
      return `claimed by ${fact.data.worker}, attempt ${fact.data.attempt}`
    case 'TurnReleased':
      return `released by ${fact.data.worker} (${fact.data.reason})${because(fact.data.error)}`
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
