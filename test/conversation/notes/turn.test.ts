import { expect, it } from 'vitest'
import { text } from '../../support/log.ts'
import { scene } from '../../support/turn-scene.ts'

it('a turn lands whose observer notes something while the model replies', async () => {
  const { chat, turn } = await scene([
    async () => {
      await chat.note({ kind: 'observer/progress', data: { asked: true } })
      await chat.link({ relation: 'continues', ref: 'yesterday' })
      return { content: [text('Yes.')] }
    },
  ])
  await turn()
  expect(await chat.effective()).toHaveLength(2)
  expect(await chat.notes()).toMatchObject([{ kind: 'observer/progress' }])
})
