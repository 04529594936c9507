// Analyses of recorded conversations: `palimpsest/investigate`. docs/investigate.md.

export { cost, type CostOptions } from './cost.ts'
export { cache, type CacheOptions } from './cache.ts'
export type { CacheReport } from './cache-report.ts'
export type { BreakKind, CacheBreak } from './breaks.ts'
export type { ResumeCost } from './resume-cost.ts'
export type { ConversationCost, Cost } from './cost-report.ts'
export type { UsageTotals, ToolUsage } from '../agent/context/tokens/usage-totals.ts'
export { markerStory, type MarkerStoryOptions } from './read-marker.ts'
export type {
  AskedPrompt,
  ChangedFile,
  CutList,
  FailedResult,
  LostTerm,
  MarkerStory,
  RereadFile,
  ToolSteps,
} from './marker-story.ts'
export { why, whyAll, type WhyOptions } from './ask-why.ts'
export type { CallName } from '../events/call-name.ts'
export type { HiddenPart, ShownItem, Why } from './why.ts'
export type { LossReport, NeededTerm } from './why-all.ts'
export type { Because, Difference } from './differences.ts'
export type { HiddenTerm } from './missing-terms.ts'
export { bisect, type BisectOptions, type BisectionState, type EndsAlike } from './bisect.ts'
export { modelJudge, type ModelJudge } from './model-judge.ts'
export type { AskAt, FoundAt, Move, UnclearBetween, Verdict } from './bisection.ts'
export type { Judge, Judgeable, JudgeResult } from './judge.ts'
export type { KeptVerdict } from './verdicts.ts'
export { replay, type ReplayOptions } from './replay.ts'
export type { ReplayReport, ReplayedCall } from './replay-log.ts'
export type { ReplayPolicy } from './replay-policy.ts'
export { replayAgent, type ReplayAgentOptions } from './agent/index.ts'
export type { AgentReplayReport } from './agent/replay-agent.ts'
export type { Divergence, DivergenceKind } from './agent/divergence.ts'
export type { AgentOptions, ReplayedAgent } from './agent/replayed-agent.ts'
export { counterfactual, type Counterfactual, type CounterfactualOptions } from './sampling/index.ts'
export type { Sample, SampleKind } from './sampling/samples.ts'
export type { SamplePlan } from './sampling/plan.ts'
