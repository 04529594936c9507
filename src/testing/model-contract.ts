import { failures } from './model-contract/failures.ts'
import { replies } from './model-contract/replies.ts'
import type { ModelCase } from './model-contract/support.ts'

export type { ModelAnswer, ModelCase, ModelScene } from './model-contract/support.ts'

/** What every `Model` must do. Run each case on a scene of its own: the model, and an endpoint that does as it is told. */
export const modelContract: readonly ModelCase[] = [...replies, ...failures]
