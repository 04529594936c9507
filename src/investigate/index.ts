// What a recorded conversation tells about itself: `palimpsest/investigate`. docs/investigate.md.

export { cost, type CostOptions } from './costing.ts'
export { cache, type CacheOptions } from './caching.ts'
export type { CacheReport } from './cache.ts'
export type { BreakKind, CacheBreak } from './breaks.ts'
export type { Resuming } from './resuming.ts'
export type { ConversationCost, Cost } from './cost.ts'
export type { Spent, ToolSpent } from './spent.ts'
export { why, type WhyOptions } from './asking-why.ts'
export type { HiddenPart, ShownItem, Why } from './why.ts'
export type { Because, Difference } from './differences.ts'
export type { Needed } from './needed.ts'
