import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ReplyEvent } from '../../agent/models/model.ts'
import { call, errorOf, isRetryable, long, type ModelAnswer, type ModelCase, textOf } from './support.ts'

const refusals: readonly ModelCase[] = [
  {
    title: 'an overloaded endpoint is worth a retry',
    run: async (scene) => {
      scene.answers({ refuses: 'overloaded' })
      const error = await errorOf(call(scene))
      assert.equal(error._tag, 'ModelFailed')
      assert.ok(isRetryable(error))
    },
  },
  {
    title: 'a rate limit is worth a retry, after the milliseconds that the endpoint asks for',
    run: async (scene) => {
      scene.answers({ refuses: 'rate-limited' })
      const error = await errorOf(call(scene))
      assert.ok(error._tag === 'ModelFailed' && error.retryable === true)
      assert.deepEqual([error.status, error.retryAfter], [429, 2_000])
    },
  },
  {
    title: 'a wrong key is not worth a retry',
    run: async (scene) => {
      scene.answers({ refuses: 'unauthorized' })
      const error = await errorOf(call(scene))
      assert.ok(error._tag === 'ModelFailed' && !isRetryable(error))
      assert.equal(error.status, 401)
    },
  },
  {
    title: 'a prompt that is too long is ContextExceeded',
    run: async (scene) => {
      scene.answers({ refuses: 'too-long' })
      assert.equal((await errorOf(call(scene)))._tag, 'ContextExceeded')
    },
  },
]

const broken = (title: string, answer: ModelAnswer): ModelCase => ({
  title,
  run: async (scene) => {
    scene.answers(answer)
    const error = await errorOf(call(scene))
    assert.equal(error._tag, 'ModelFailed')
    assert.ok(isRetryable(error))
    assert.ok(long.startsWith(textOf(error.partial?.content ?? [])), 'the beginning of the text')
  },
})

const patience = 60

export const failures: readonly ModelCase[] = [
  ...refusals,
  broken('a connection that breaks is no reply, and worth a retry', { text: long, breaks: 'drop' }),
  broken('a stream that ends before the reply did is no reply, and worth a retry', {
    text: long,
    breaks: 'end',
  }),
  {
    title: 'a reply of which nothing arrives for the stall timeout is ModelStalled',
    run: async (scene) => {
      for (const answer of [{ isSilent: true }, { text: long, breaks: 'stall' }] as const) {
        scene.answers(answer)
        const error = await errorOf(call(scene, { stallTimeout: patience }))
        assert.ok(error._tag === 'ModelStalled' && error.timeout === patience && error.retryable)
      }
    },
  },
  {
    title: 'an abort ends the call, before it began, while it waits, and in the middle of the reply',
    run: async (scene) => {
      const early = await errorOf(call(scene, { signal: AbortSignal.abort('enough') }))
      assert.ok(early._tag === 'ModelAborted' && early.cause === 'enough')
      scene.answers({ isSilent: true })
      const waiting = new AbortController()
      const before = scene.received()
      const asked = errorOf(call(scene, { signal: waiting.signal }))
      // If the request were aborted before it arrives, its scripted answer would go to the next request.
      while (scene.received() === before) await sleep(5)
      waiting.abort('enough')
      assert.equal((await asked)._tag, 'ModelAborted')
      scene.answers({ text: long, breaks: 'stall' })
      const middle = new AbortController()
      const events: ReplyEvent[] = []
      const onEvent = (event: ReplyEvent): void => {
        events.push(event)
        if (event.type === 'content_block_delta') middle.abort('enough')
      }
      const late = await errorOf(call(scene, { signal: middle.signal, onEvent }))
      assert.equal(late._tag, 'ModelAborted')
      assert.equal(
        events.filter(({ type }) => type === 'content_block_delta').length,
        1,
        'told of after the abort',
      )
      const said = textOf(late.partial?.content ?? [])
      assert.ok(said !== '' && long.startsWith(said))
    },
  },
  {
    title: 'a listener that throws ends the call, which is not worth a retry',
    run: async (scene) => {
      scene.answers({ text: long })
      const onEvent = (): void => {
        throw new Error('no more paper')
      }
      const error = await errorOf(call(scene, { onEvent }))
      assert.ok(error._tag === 'ModelFailed' && !isRetryable(error))
      assert.match(error.message, /no more paper/)
    },
  },
]
