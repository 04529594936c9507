// The core of the library: functions of events alone, without a store, a driver or an SDK; some cache their results. It runs wherever
// zod, fp-ts and node:crypto do.

export type * from './core-types.ts'

export { decide } from './commands/decide.ts'
export { stateOf } from './commands/state.ts'

export { blocksOf, clippedEvent, clippedItem } from './projections/clip.ts'
export { isFailure, kindOf } from './projections/columns.ts'
export { retriesIn } from './projections/retries.ts'
export { diff } from './projections/diff.ts'
export { effective, messagesOf, sliceOf } from './projections/effective.ts'
export { firstMatchIn as foundIn } from './projections/excerpts.ts'
export { configurationsAt, full } from './projections/full.ts'
export { path, resolve } from './projections/path.ts'
export { render } from './projections/render/renderer.ts'
export { timeline } from './projections/timeline.ts'

export type { UndoableType } from './events/event-traits.ts'
export { contentOf, START } from './events/events.ts'
export { unknownBlock } from './events/blocks.ts'
