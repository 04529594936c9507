import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChatForm } from '../../src/agent/models/form.ts'
import { chatBody } from '../../src/agent/models/openai/chat/chat.ts'
import { configurationOf, effective } from '../../src/projections/effective.ts'
import { requestWith } from '../../src/agent/models/request.ts'
import { digestOf } from '../../src/agent/receipts/canonical.ts'
import { fingerprintLength, fingerprintsOf, partsOf } from '../../src/agent/receipts/fingerprints.ts'
import { currentRenderer, requestOf } from '../../src/agent/receipts/request.ts'
import type { JsonFields, ChatModel } from '../../src/testing/chat-completions/body.ts'
import { messagesProblem } from '../../src/testing/chat-completions/message-rules.ts'
import { parametersProblem } from '../../src/testing/chat-completions/parameter-rules.ts'
import { right } from '../support/either.ts'
import { histories, rawLogs } from '../support/histories.ts'
import { runs } from '../support/runs.ts'

const forms: fc.Arbitrary<ChatForm> = fc.record(
  {
    name: fc.constant('chat-completions' as const),
    version: fc.constant(1),
    system: fc.constant('developer' as const),
    images: fc.constant(false as const),
    files: fc.constant(false as const),
    reasoning: fc.constant({ provider: 'p', field: 'reasoning_content' as const }),
  },
  { requiredKeys: ['name', 'version'] },
)
const model: ChatModel = {
  contextWindow: Infinity,
  maxOutput: Infinity,
  minCached: 0,
  maxTokens: true,
  reasoning: 'reasoning_content',
  needsReasoning: false,
}

describe('the request for Chat Completions at every position of every log', () => {
  it.each([
    ['that commands write', histories(), 50],
    ['of any events', rawLogs(), 60],
  ] as const)('keeps the rules of that API, in logs %s', (_, logs, numRuns) => {
    fc.assert(
      fc.property(logs, forms, fc.boolean(), (log, form, systemMessages) => {
        for (const at of log.keys()) {
          const now = effective(log, at)
          const made = right(requestOf(now, { renderer: currentRenderer, form, systemMessages }))
          if (made.awaits === 'beginning') continue
          const { parameters = {} } = configurationOf(now)
          const body: JsonFields = chatBody(requestWith(made, { model: 'm', parameters }), form)
          expect([at, messagesProblem(body['messages'], model)]).toEqual([at, undefined])
          expect([at, parametersProblem(body, 'm', model)]).toEqual([at, undefined])
          expect({ messages: body['messages'], tools: body['tools'] }).toEqual({
            messages: made.chat?.messages,
            tools: made.chat?.tools,
          })
        }
      }),
      { numRuns: runs(numRuns) },
    )
  })

  it('is the same whatever was made before, and each of its parts has its place and fingerprint', () => {
    fc.assert(
      fc.property(histories(), fc.array(forms, { minLength: 1, maxLength: 3 }), (log, all) => {
        for (const at of log.keys())
          for (const form of all) {
            const made = right(requestOf(effective(log, at), { renderer: currentRenderer, form }))
            const fresh = right(
              requestOf(structuredClone(effective(log, at)), { renderer: currentRenderer, form }),
            )
            expect(digestOf(made)).toBe(digestOf(fresh))
            const whole = createHash('sha256').update(canonicalize(made.chat) ?? '')
            expect(digestOf(made)).toBe(whole.digest('hex'))
            expect(JSON.stringify(made.repairs)).toBe(JSON.stringify(fresh.repairs))
            expect(fingerprintsOf(made).length).toBe(fingerprintLength * partsOf(made).length)
          }
      }),
      { numRuns: runs(15) },
    )
  })
})
