import * as E from 'fp-ts/lib/Either.js'
import { expect } from 'vitest'
import { type Conversation, openStore } from '../../../src/index.ts'
import { receiptOf } from '../../../src/agent/receipts/receipt.ts'
import { asSent } from '../../../src/agent/receipts/build-request.ts'
import type { Fields } from '../../../src/events/json.ts'
import { currentRenderer, requestOf, type RequestOptions } from '../../../src/agent/receipts/request.ts'
import { createAnswers } from '../../../src/testing/messages-api/answers.ts'
import type { ApiMessage } from '../../../src/testing/messages-api/replies.ts'
import { atEnd } from '../at-end.ts'

// Calls of a model one by one, on a clock that the test moves: as turns make and record them, without waiting.

export interface Player {
  readonly chat: Conversation
  /** When what is written next happens. */
  readonly at: () => { readonly now: Date }
  /** Time passes, in seconds. */
  readonly wait: (seconds: number) => void
  /** The user says something, and the model answers. */
  readonly turn: (said?: string) => Promise<ApiMessage>
  readonly replyTo: () => Promise<ApiMessage>
  /** How requests are made from now on. */
  readonly rendering: (options: Partial<RequestOptions>) => void
  /** What was sent, one for each call. */
  readonly bodies: readonly Fields[]
}

/** @param reply what the model says: texts, one a call, the last one again and again */
export const player = async (reply: (n: number) => string = (n) => `Reply ${n}.`): Promise<Player> => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const chat = store.conversation('c')
  let time = Date.parse('2026-01-05T08:00:00.000Z')
  const at = () => ({ now: new Date(time) })
  const answer = createAnswers({
    now: () => time,
    reply: (_, n) => ({ content: [{ type: 'text', text: reply(n) }] }),
  })
  const wait = (seconds: number): void => {
    time += seconds * 1_000
  }
  let said = 0
  let options: RequestOptions = { renderer: currentRenderer, cache: '5m' }
  const bodies: Fields[] = []
  const replyTo = async (): Promise<ApiMessage> => {
    const effective = await chat.context()
    const made = requestOf(effective, options)
    if (E.isLeft(made)) throw new Error(made.left.message)
    const receipt = receiptOf(effective, made.right, options)
    const call = {
      number: 1,
      position: effective.at + 1,
      kind: 'reply' as const,
      origin: { model: 'claude-opus-5-5' },
      receipt,
    }
    const { model, parameters, betas: _, ...request } = asSent(call, effective, made.right)
    wait(2)
    const body = { max_tokens: 100, ...parameters, model, ...request }
    bodies.push(body)
    const answered = await answer(body, false)
    if (!('message' in answered)) throw new Error(JSON.stringify(answered))
    const { content, usage, id } = answered.message
    const origin = { model, usage: { ...usage }, requestId: id, stopReason: 'end_turn', context: receipt }
    await chat.append({ role: 'assistant', content: content as never, origin }, at())
    return answered.message
  }
  const turn = async (text = `Question ${++said}: ${'what about this? '.repeat(9)}`): Promise<ApiMessage> => {
    wait(3)
    await chat.append({ role: 'user', content: text }, at())
    return replyTo()
  }
  expect(await chat.position().catch(() => -1)).toBe(-1)
  const rendering = (other: Partial<RequestOptions>): void => {
    options = { ...options, ...other }
  }
  return { chat, at, wait, turn, replyTo, rendering, bodies }
}
