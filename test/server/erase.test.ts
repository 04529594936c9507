import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openClient } from 'palimpsest/client'
import { accessTokensIn, createAccessToken } from '../../src/server/access-tokens.ts'
import { serve } from '../../src/server/serve.ts'
import { atEnd } from '../support/at-end.ts'
import { serving } from '../support/server/asking.ts'
import { opened, temporaryFolder } from '../support/stores.ts'

const said = (content: string) => ({ role: 'user', content }) as const

const withTokens = async () => {
  const file = join(temporaryFolder(), 'tokens.json')
  const of = (name: string, ...scopes: ('read' | 'write' | 'audit' | 'erase')[]) => ({
    authorization: `Bearer ${createAccessToken(file, name, scopes)}`,
  })
  const tokens = { eraser: of('ann', 'read', 'erase'), writer: of('bob', 'read', 'write', 'audit') }
  const scene = await serving({ authenticate: accessTokensIn(file) })
  await scene.store.conversation('a').append([said('My number is 4711.'), said('Hello.')])
  return { ...scene, ...tokens }
}

describe('with the scope erase', () => {
  test('content is erased under the name of the token, and nobody else erases', async () => {
    const { ask, store, eraser, writer } = await withTokens()
    for (const [word, body] of Object.entries({ erase: { positions: [0] }, hold: {}, release: {} }))
      expect(await ask(`conversations/a/${word}`, { json: body, headers: writer })).toMatchObject({
        status: 403,
        json: { tag: 'Forbidden', scope: 'erase' },
      })
    const json = { positions: [0], reason: 'request 17' }
    const dry = await ask('conversations/a/erase?dryRun=true', { json, headers: eraser })
    expect(dry.json).toMatchObject({ conversation: 'a', positions: [0], repeated: [] })
    expect(await store.conversation('a').position()).toBe(1)
    const erased = await ask('conversations/a/erase', { json, headers: eraser })
    expect(erased).toMatchObject({ status: 200, json: dry.json })
    const { json: seen } = await ask('conversations/a/events', { headers: eraser })
    expect(seen['items']).toMatchObject([
      { type: 'MessageAppended', metadata: { erased: { time: expect.any(String) as string } } },
      { type: 'MessageAppended', data: { content: [{ text: 'Hello.' }] } },
      {
        type: 'Erased',
        data: { by: 'ann', reason: 'request 17', events: { ranges: [{ first: 0, last: 0 }] } },
      },
    ])
    expect(JSON.stringify(seen)).not.toContain('4711')
    const { json: shown } = await ask('conversations/a/effective', { headers: eraser })
    expect(shown['items']).toMatchObject([
      { position: 0, erased: expect.any(String) as string },
      { position: 1 },
    ])
  })

  test('what shows erased content is not answered with 304 any more', async () => {
    const { ask, store, eraser } = await withTokens()
    await store.conversation('a').append({ role: 'assistant', content: 'Hi.', origin: { model: 'm' } })
    const views = ['effective?at=1', 'full?at=1', 'request?at=1', 'diff?from=-1&to=1']
    const paths = [...views, 'events/0', 'events/0/blocks/0', 'calls/p2', 'calls/p2/request']
    const seen: { path: string; tag: string }[] = []
    for (const path of paths) {
      const { headers, text } = await ask(`conversations/a/${path}`, { headers: eraser })
      expect(text).toContain('4711')
      seen.push({ path, tag: headers.get('etag') ?? '' })
    }
    const again = ({ path, tag }: { path: string; tag: string }) =>
      ask(`conversations/a/${path}`, { headers: { ...eraser, 'if-none-match': tag } })
    for (const one of seen) expect(await again(one)).toMatchObject({ status: 304 })
    await store.conversation('a').erase({ positions: [0] })
    for (const one of seen) {
      const { status, text } = await again(one)
      expect({ ...one, status }).toEqual({ ...one, status: 200 })
      expect(text).not.toContain('4711')
    }
  })

  test('a conversation is held and released, and nobody else writes the note that does it', async () => {
    const { ask, eraser, writer } = await withTokens()
    const held = async () => (await ask('conversations/a/hold', { headers: writer })).json
    expect(await held()).toEqual({})
    await ask('conversations/a/hold', { json: { reason: 'case 7' }, headers: eraser })
    expect(await held()).toEqual({
      hold: { by: 'ann', reason: 'case 7', since: expect.any(String) as string },
    })
    const note = { kind: 'palimpsest/hold', data: { by: 'bob', released: true } }
    expect(await ask('conversations/a/notes', { json: note, headers: writer })).toMatchObject({
      status: 400,
      json: { tag: 'InvalidInput', path: 'kind' },
    })
    const refused = await ask('conversations/a/erase', { json: {}, headers: eraser })
    expect(refused).toMatchObject({ status: 409, json: { tag: 'CannotErase', conversation: 'a' } })
    expect(refused.json['detail']).toContain('under the legal hold of ann')
    expect(await ask('conversations/a/release', { json: {}, headers: eraser })).toMatchObject({ status: 200 })
    expect(await held()).toEqual({})
    expect(await ask('conversations/a/erase', { json: {}, headers: eraser })).toMatchObject({ status: 200 })
  })
})

test('a client erases, holds and releases as the library does', async () => {
  const store = await opened('memory:')
  const server = await serve({ store, port: 0 })
  atEnd(server.close)
  const chat = openClient(server.url).conversation('a')
  await chat.append(said('My number is 4711.'))
  expect(await chat.legalHold()).toBeUndefined()
  await chat.hold({ reason: 'case 7' })
  expect(await chat.legalHold()).toMatchObject({ by: 'user', reason: 'case 7' })
  await expect(chat.erase()).rejects.toMatchObject({ _tag: 'CannotErase', conversation: 'a' })
  await store.conversation('a').hold({ by: 'legal' })
  await chat.release()
  await expect(chat.release()).rejects.toMatchObject({ _tag: 'CannotRelease', conversation: 'a' })
  await store.conversation('a').release({ by: 'legal' })
  expect(await chat.legalHold()).toBeUndefined()
  expect(await chat.erase({ before: new Date(0) })).toMatchObject({ positions: [] })
  const refused = [{ before: new Date(NaN) }, { positions: [-1] }, { by: 'ann' }]
  for (const options of refused)
    await expect(chat.erase(options)).rejects.toMatchObject({ _tag: 'InvalidInput' })
  expect(await chat.erase({ before: new Date('2100-01-01'), dryRun: true })).toMatchObject({ positions: [0] })
  expect(JSON.stringify(await chat.effective())).toContain('4711')
  const report = await chat.erase({ positions: [0], reason: 'request 17' })
  expect(report).toMatchObject({ conversation: 'a', positions: [0], notes: 0, repeated: [] })
  expect(JSON.stringify(await chat.effective())).not.toContain('4711')
  expect(await store.conversation('a').erase({ positions: [0] })).toEqual({ ...report, positions: [] })
})
