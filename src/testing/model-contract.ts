import { failures } from './model-contract/failures.ts'
import { replies } from './model-contract/replies.ts'
import type { ModelCase } from './model-contract/support.ts'

export type { ModelAnswer, ModelCase, ModelScene } from './model-contract/support.ts'

/** Contract of every `Model`. Run each case on its own scene: the model, and an endpoint that can be scripted. */
export const modelContract: readonly ModelCase[] = [...replies, ...failures]
