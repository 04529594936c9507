import { expect, test } from 'vitest'
import { createSecretScanner } from '../../../src/transfer/disclosure/secrets.ts'

// Put together here, so that no scanner takes this file for a leak.
const token = `ghp${'_a1B2c3D4e5F6g7H8i9J0'.padEnd(37, 'k1L2m3N4o5P6')}`
const key = `${'-'.repeat(5)}BEGIN RSA PRIVATE KEY${'-'.repeat(5)}\n${'MIIEowIBAAKCAQEA\n'.repeat(20)}${'-'.repeat(5)}END RSA PRIVATE KEY${'-'.repeat(5)}`

const scan = async (...values: readonly unknown[]) => {
  const scanner = await createSecretScanner<number>()
  for (const [place, value] of values.entries()) await scanner.pass(place, value)
  return scanner.end()
}

test('a secret is found in any text of a value, and shown by its first characters only', async () => {
  const found = await scan(
    { content: [{ type: 'text', text: 'Nothing.' }] },
    { content: [{ type: 'tool_result', tool_use_id: 't', content: `x\n${token}\n${token}` }] },
    {
      content: [
        {
          type: 'tool_use',
          id: 't',
          name: 'f',
          input: { deep: [{ AWS_SECRET_ACCESS_KEY: 'a1/B'.repeat(10) }] },
        },
      ],
    },
    key,
  )
  expect(found.map(({ place, kind }) => [place, kind])).toEqual([
    [1, 'GITHUB_TOKEN'],
    [2, 'AWSSecretAccessKey'],
    [3, 'PrivateKey'],
  ])
  expect(found[0]?.excerpt).toBe('ghp_… (40 characters)')
})

test('a secret is found wherever a long text is cut', async () => {
  const window = 64 * 1024
  for (const before of [window - 20, window - 1, 2 * window - 16 * 1024 - 20])
    expect(await scan(`${'word '.repeat(before / 5)} ${token} ${'word '.repeat(1_000)}`)).toHaveLength(1)
})

test('two texts make no secret together, and no comment switches a rule off', async () => {
  const [first, second] = [token.slice(0, 20), token.slice(20)]
  expect(await scan(first, second)).toEqual([])
  expect(await scan(`secretlint-disable\n${token}`, `// secretlint-disable-line ${token}`)).toHaveLength(2)
})

test('encoded data is not scanned', async () => {
  const source = { type: 'base64', media_type: 'image/png', data: token }
  expect(await scan({ content: [{ type: 'image', source }] })).toEqual([])
})
