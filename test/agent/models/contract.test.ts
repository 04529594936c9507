import { describe, expect, test } from 'vitest'
import { modelContract } from '../../../src/testing/model-contract.ts'
import { chatScene, messagesScene } from '../../support/models/scenes.ts'

describe.each([
  { name: 'the Messages API', scene: messagesScene },
  { name: 'Chat Completions', scene: chatScene },
])('a model at $name', ({ scene }) => {
  test.each(modelContract)('$title', async ({ run }) => {
    await expect(run(await scene())).resolves.toBeUndefined()
  })
})
