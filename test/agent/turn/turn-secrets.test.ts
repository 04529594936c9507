import { inspect } from 'node:util'
import { join } from 'node:path'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import {
  referencesIn,
  secretsIn,
  withoutEchoes,
  withoutSecrets,
  withSecrets,
} from '../../../src/events/secrets.ts'
import { openStore } from '../../../src/index.ts'
import { toPromise } from '../../../src/api/promises.ts'
import { diagnose } from '../../../src/api/schemes.ts'
import { text } from '../../support/log.ts'
import type { ApiFailure } from '../../../src/testing/messages-api/replies.ts'
import { scene, task, yes } from '../../support/turn-scene.ts'

const token = 'tok-very-secret'
const parameters = {
  mcp_servers: [
    { type: 'url', url: 'https://a.example', name: 'a', authorization_token: token },
    {
      type: 'url',
      url: 'https://b.example',
      name: 'b',
      tool_configuration: { headers: { 'X-Api-Key': token } },
    },
  ],
  metadata: { user_id: 'u' },
}
const recorded = {
  mcp_servers: [
    { name: 'a', authorization_token: { $secret: 'mcp_servers[0].authorization_token' } },
    {
      name: 'b',
      tool_configuration: {
        headers: { 'X-Api-Key': { $secret: 'mcp_servers[1].tool_configuration.headers.X-Api-Key' } },
      },
    },
  ],
  metadata: { user_id: 'u' },
}

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'palimpsest-secrets-'))
  folders.push(made)
  return made
}

describe('a secret in the parameters of a turn', () => {
  it('is sent, and not recorded: a reference replaces it in the log, in receipts and in what is shown', async () => {
    const { chat, turn, api } = await scene([yes])
    await turn({ parameters })
    await chat.append(task)
    await turn({ parameters })
    for (const { body } of api.requests) expect(body).toMatchObject(parameters)
    expect(JSON.stringify(await chat.timeline())).not.toContain(token)
    expect((await chat.sent()).request.parameters).toMatchObject(recorded)
    expect(JSON.stringify(await chat.sent())).not.toContain(token)
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('may change in every turn: nothing is configured again', async () => {
    const { chat, turn, api } = await scene([yes])
    await turn({ parameters: { api_key: 'one' } })
    await chat.append(task)
    await turn({ parameters: { api_key: 'two' } })
    expect(api.requests.map(({ body }) => body?.['api_key'])).toEqual(['one', 'two'])
    const configured = (await chat.timeline()).filter(({ event }) => event.type === 'Configured')
    expect(configured).toHaveLength(1)
  })

  it('is missed by name where a reference is given in its place, and nothing is sent or written', async () => {
    const { chat, turn, api } = await scene([yes])
    await turn({ parameters })
    await chat.append(task)
    const { parameters: given = {} } = (await chat.context()).layout.configuration ?? {}
    const before = await chat.position()
    await expect(turn({ parameters: given })).rejects.toMatchObject({
      _tag: 'SecretMissing',
      paths: ['mcp_servers[0].authorization_token', 'mcp_servers[1].tool_configuration.headers.X-Api-Key'],
      message: /name the value of parameters\.mcp_servers\[0\]\.authorization_token, /,
    })
    expect(await chat.position()).toBe(before)
    expect(api.requests).toHaveLength(1)
  })

  it('is not on the disk, whoever configures it', async () => {
    const path = folder()
    const store = await openStore(`sqlite:${join(path, 'a.db')}`)
    const chat = store.conversation('c')
    await chat.configure({ parameters })
    await chat.configure({ system: 'Be brief.' })
    const session = JSON.stringify({
      model: 'm',
      max_tokens: 10,
      ...parameters,
      messages: [{ role: 'user', content: 'Hello.' }],
    })
    await store.importSession({ file: 'a.json', text: session, id: 'imported' })
    expect((await store.conversation('imported').context()).layout.configuration).toMatchObject({
      parameters: recorded,
    })
    await store.close()
    for (const file of readdirSync(path))
      expect(readFileSync(join(path, file), 'latin1')).not.toContain(token)
  })
})

describe('a secret that an error of the API repeats', () => {
  const refused = (repeated: string, status = 529): ApiFailure => ({
    status,
    type: 'overloaded_error',
    message: `mcp server refused ${repeated}`,
    retryAfter: 0,
  })
  const told = /mcp server refused \{"\$secret":"mcp_servers\[0\]\.authorization_token"\}/

  it('is not recorded with the reply that came after it', async () => {
    const { chat, turn } = await scene([refused(token), yes])
    await turn({ parameters })
    const [, reply] = await chat.effective()
    expect(reply).toMatchObject({ origin: { failed: [{ message: expect.stringMatching(told) as string }] } })
    expect(JSON.stringify(await chat.timeline())).not.toContain(token)
  })

  it('is in nothing that the turn throws', async () => {
    const { turn } = await scene([refused(token, 400)])
    const error: unknown = await turn({ parameters }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      message: expect.stringMatching(told) as string,
      failed: [{ message: expect.stringMatching(told) as string }],
      cause: { message: expect.stringMatching(told) as string },
    })
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(token)
  })

  it.each<readonly [string, string, string]>([
    ['without its scheme', 'Bearer abc.def', 'abc.def'],
    ['as JSON writes it', 'a"very"secret', 'a\\"very\\"secret'],
    ['as a URL writes it', 'a very/secret', 'a%20very%2Fsecret'],
  ])('is known %s', async (_, secret, repeated) => {
    const { chat, turn } = await scene([refused(repeated), yes])
    await turn({ parameters: { api_key: secret } })
    expect(JSON.stringify(await chat.timeline())).toContain('mcp server refused {')
    expect(JSON.stringify(await chat.timeline())).not.toContain(JSON.stringify(repeated).slice(1, -1))
  })

  it('leaves other errors and what the model says as they are', async () => {
    const said = { content: [text(`The token is ${token}.`)] }
    const { chat, turn } = await scene([refused('nothing'), said])
    await turn({ parameters })
    expect((await chat.effective())[1]).toMatchObject({
      ...said,
      origin: { failed: [{ message: expect.stringContaining('refused nothing') as string }] },
    })
  })
})

describe('an error that repeats secrets', () => {
  it('names each, also where one begins with another', () => {
    const secrets = new Map([
      ['a', 'secret'],
      ['b', 'secret-and-more'],
    ])
    expect(withoutEchoes({ list: ['secret-and-more, secret'] }, secrets)).toEqual({
      list: ['{"$secret":"b"}, {"$secret":"a"}'],
    })
  })
})

describe('doctor', () => {
  it('names the conversations in which an earlier version has recorded a secret', async () => {
    const path = folder()
    const url = `sqlite:${join(path, 'a.db')}`
    const store = await openStore(url)
    for (const id of ['old', 'new']) await store.conversation(id).configure({ parameters })
    await store.close()
    const secretsFound = async () => (await toPromise(diagnose(url))).find(({ check }) => check === 'secrets')
    expect(await secretsFound()).toMatchObject({ status: 'ok' })
    const { DatabaseSync } = await import('node:sqlite')
    const db = new DatabaseSync(join(path, 'a.db'))
    db.exec(
      `UPDATE events SET data = '${JSON.stringify({ parameters })}' WHERE stream = (SELECT id FROM streams WHERE name = 'conversation-old')`,
    )
    db.close()
    const found = await secretsFound()
    expect(found).toMatchObject({ status: 'warning', message: expect.stringMatching(/ in old: /) as string })
    expect(JSON.stringify(found)).not.toContain(token)
  })
})

describe('what is known as a secret', () => {
  it.each([
    'authorization_token',
    'authorization',
    'Authorization',
    'api_key',
    'apiKey',
    'x-api-key',
    'access_token',
    'client_secret',
    'secret',
    'password',
    'secret-access-key',
    'private_key',
  ])('is a text under %s', (name) => {
    expect(withoutSecrets({ a: [{ [name]: token }] })).toEqual({
      a: [{ [name]: { $secret: `a[0].${name}` } }],
    })
  })

  it.each([
    { max_tokens: 5 },
    { authorization_token: null },
    { password: '' },
    { token_count: 'many', tokens: 'x', secretary: 'x', stop_sequences: ['password'] },
  ])('is nothing in %j', (value) => {
    expect(withoutSecrets(value)).toBe(value)
  })

  it('comes back in its place, whatever is around it', () => {
    const name = fc.constantFrom('authorization_token', 'api_key', 'a', '0', '__proto__', 'name')
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.string(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc
          .array(fc.tuple(name, tie('value')), { maxLength: 3 })
          .map((entries) => Object.fromEntries(entries)),
      ),
    }))
    fc.assert(
      fc.property(value, (given) => {
        const kept = withoutSecrets(given)
        expect(secretsIn(kept).size).toBe(0)
        expect(referencesIn(kept).toSorted()).toEqual([...secretsIn(given).keys()].toSorted())
        expect(withSecrets(kept, secretsIn(given))).toEqual(given)
        expect(withoutSecrets(kept)).toBe(kept)
      }),
    )
  })
})
