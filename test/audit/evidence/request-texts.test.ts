import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import { digestOf } from '../../../src/agent/receipts/canonical.ts'
import { requestTexts } from '../../../src/audit/evidence/request-texts.ts'
import { effective } from '../../../src/projections/effective.ts'
import { render } from '../../../src/projections/render/render.ts'
import { assistant, logOf, user } from '../../support/log.ts'

it('the pieces of a request with a message that sets the effort have its digest', () => {
  const effort = {
    type: 'MessageAppended',
    data: { role: 'system', content: [], output_config: { effort: 'low' } },
  } as const
  const request = render(effective(logOf(user('a'), assistant('b'), user('c'), effort)), {
    systemMessages: true,
  })
  expect(request.messages.at(-1)).toMatchObject({ output_config: { effort: 'low' } })
  expect(hash('sha256', requestTexts(request).join(''))).toBe(digestOf(request))
})
