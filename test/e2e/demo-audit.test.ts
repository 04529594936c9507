import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ended, startHeard } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'

const demo = (...args: readonly string[]) => ended(startHeard('../examples/audit/main.ts', ...args))

test('the demo of audits catches all seven tamperings, by what is said to catch them, and nothing where nothing was done', async () => {
  const { output, code } = await demo('--folder', join(temporaryFolder(), 'audit'))
  expect(output).toMatch(/^ +audit +0 problems$/m)
  expect(output).toMatch(/^ +bundle +49 events and 23 requests: PROVEN$/m)
  expect([...output.matchAll(/^ +CAUGHT +by (.*)$/gm)].map(([, by]) => by)).toEqual([
    'the hash chain',
    'the hash chain',
    'the hash chain',
    'the ledger',
    'the ledger',
    'the anchor',
    'the key that the auditor has',
  ])
  expect(output.match(/hash chain and receipts show nothing/g)).toHaveLength(4)
  expect(output).toContain('7 of 7 caught')
  expect(code).toBe(0)
})

test('the demo of audits says how it is called', async () => {
  expect(await demo('--files', 'a')).toEqual({
    output: expect.stringContaining('npm run demo:audit'),
    code: 2,
  })
})
