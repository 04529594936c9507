import { failures } from './model-contract/failures.ts'
import { replies } from './model-contract/replies.ts'
import type { ModelCase } from './model-contract/support.ts'

export type { ModelAnswer, ModelCase, ModelScene } from './model-contract/support.ts'

/** Contract rules for every `Model`. Run each case on a separate scene, which consists of the model and a scriptable endpoint. */
export const modelContract: readonly ModelCase[] = [...replies, ...failures]
