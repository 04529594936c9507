// What a recorded conversation tells about itself: `palimpsest/investigate`. docs/investigate.md.

export { cost, type CostOptions } from './costing.ts'
export type { ConversationCost, Cost } from './cost.ts'
export type { Spent, ToolSpent } from './spent.ts'
