import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { LiveHistory } from './calls/live.ts'
import type { TurnClaim } from './claims/turn-claim.ts'
import type { TurnWatch } from './say/watch.ts'
import type { TurnOutcome, TurnState } from './turn-state.ts'

/** Means by which a turn acts on the world. */
export interface TurnMeans {
  readonly chat: ConversationHandle
  readonly history: LiveHistory
  readonly claim: TurnClaim
  readonly watch: TurnWatch
  /** Folds an outcome into the turn's state at once, so that it counts even if the rest of the action fails. Returns the new state. */
  readonly tell: (outcome: TurnOutcome) => TurnState
}
