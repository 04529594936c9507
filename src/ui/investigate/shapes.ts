// What the API answers about what recorded conversations tell (src/server/shapes/investigate.ts says it as schemas).

export type BisectionAnswer = 'good' | 'bad' | 'skip'

export type Result =
  | { readonly type: 'ask'; readonly position: number }
  | { readonly type: 'found'; readonly position: number; readonly probability: number }
  | { readonly type: 'unclear'; readonly first: number; readonly last: number; readonly why: string }

interface Asked {
  readonly id: string
  readonly good: number
  readonly bad: number
  readonly question: string
  readonly reliability: number
  readonly begun: string
  readonly result: Result
  /** The type of the event that was found. */
  readonly event?: string | undefined
}

export interface BisectionRow extends Asked {
  readonly verdicts: number
}

export interface Bisection extends Asked {
  readonly verdicts: readonly {
    readonly position: number
    readonly verdict: BisectionAnswer
    readonly evidence?: unknown
    readonly isMeasure?: boolean | undefined
  }[]
  readonly suspects: readonly {
    readonly position: number
    readonly type: string
    readonly probability: number
  }[]
  /** Ascending, and how likely each is the first bad position; of many, the first of each stretch, with the probability of its likeliest. */
  readonly candidates: readonly number[]
  readonly probabilities: readonly number[]
}

export interface Break {
  readonly call?: number | undefined
  /** Of the reply. */
  readonly position: number
  readonly kind: string
  /** The event that caused it. */
  readonly event?: number | undefined
  readonly path?: string | undefined
  readonly also?: string | undefined
  readonly lost: number
  readonly again: number
  readonly usd?: number | undefined
  /** Seconds since the reply before. */
  readonly idle: number
}

export interface CacheResponse {
  readonly calls: number
  readonly uncounted: number
  readonly input: number
  readonly read: number
  readonly breaks: readonly Break[]
  readonly advice: readonly string[]
}

export interface SpendFigures {
  readonly calls: number
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
  readonly usd: number
  readonly unpriced: number
  readonly uncounted: number
}

export interface CostResponse {
  readonly conversations: readonly { readonly id: string; readonly own: SpendFigures }[]
  readonly total: SpendFigures
  readonly models: readonly (SpendFigures & { readonly model?: string | undefined })[]
  readonly tools: readonly {
    readonly tool?: string | undefined
    readonly uses: number
    readonly usd: number
  }[]
}

export interface ReplayRow {
  readonly call?: number | undefined
  /** Of the recorded reply. */
  readonly position: number
  readonly isSame: boolean
  readonly tokens: number
  readonly read: number
  readonly isOver: boolean
  readonly hidden: number
  readonly needed: readonly { readonly term: string; readonly inSummary: boolean }[]
}

export interface ReplayResponse {
  readonly calls: readonly ReplayRow[]
  readonly total: {
    readonly tokens: number
    readonly read: number
    readonly usd?: number | undefined
    readonly condensed: number
    readonly truncated: number
    readonly edited: number
    readonly over: number
    readonly needed: number
    readonly same: number
  }
}
