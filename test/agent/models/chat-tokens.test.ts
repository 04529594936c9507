import { describe, expect, it } from 'vitest'
import { countTokens } from '../../../src/agent/context/tokens/tokens.ts'
import { usageOf } from '../../../src/agent/models/openai/usage.ts'
import { effective } from '../../../src/projections/effective.ts'
import { assistant, logOf, user } from '../../support/log.ts'

/** A reply of these many tokens, most of which are reasoning that is not sent again. */
const reply = (text: string, prompt: number, said: number, reasoning: number) =>
  assistant(text, {
    model: 'm',
    requestId: `r${prompt}`,
    stopReason: 'end_turn',
    usage: usageOf({
      prompt_tokens: prompt,
      completion_tokens: said + reasoning,
      completion_tokens_details: { reasoning_tokens: reasoning },
    }),
  })

describe('reasoning that is billed and not sent again', () => {
  it('is no part of the next request', () => {
    const count = countTokens(effective(logOf(user('Why?'), reply('It is so.', 100, 10, 9_000))))
    expect(count).toMatchObject({ total: 110, estimated: 0, anchor: 1 })
  })

  it('does not make estimates of what comes next smaller', () => {
    const words = 'so it was told '.repeat(300)
    const log = [
      user(words),
      reply('Yes.', 1_000, 5, 9_000),
      user(words),
      reply('No.', 2_005, 5, 9_000),
      user(words),
    ]
    expect(countTokens(effective(logOf(...log))).correction).toBeGreaterThan(0.8)
  })
})
