import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import type { Conversation } from '../../src/index.ts'
import { text, toolUse } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { scene } from '../support/turn-scene.ts'

// A server tool beside a client tool: what the user says before the next reply would lose the search, whatever else happens meanwhile.

const acts = ['say', 'show', 'edit', 'configure', 'condense', 'truncate'] as const
type Act = (typeof acts)[number]
const anyActs = fc.array(fc.constantFrom(...acts), { maxLength: 6 })

const use: Block = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
const found: Block = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }

/** Does it, and says which word has to come up for it. */
const carryOut = async (chat: Conversation, act: Act, n: number): Promise<readonly string[]> => {
  const word = `word-${n}.`
  const items = await chat.effective()
  const [first, second, third] = items
  const covers = { first: first?.position ?? 0, last: (n % 2 ? second : third)?.position ?? 0 }
  // What came before the search gets shorter.
  const canHide = items.findIndex((item) => JSON.stringify(item).includes('server_tool_use')) > 3
  if (act === 'configure') await chat.configure({ system: `Rule ${n}.` })
  else if (act === 'condense' && canHide) await chat.condense({ covers, summary: `Summary ${n}.` })
  else if (act === 'truncate' && canHide) await chat.truncate({ covers })
  else if (act === 'say') await chat.append({ role: 'user', content: word })
  else if (act === 'show') await chat.append({ role: 'user', content: 'hidden', shown: { content: word } })
  else if (act === 'edit') {
    const { position } = await chat.append({ role: 'user', content: 'hidden' })
    const summary = [{ role: 'user' as const, content: word }]
    await chat.condense({ covers: { first: position, last: position }, summary, method: 'client' })
  } else return []
  return ['say', 'show', 'edit'].includes(act) ? [word] : []
}

const carryOutAll = async (chat: Conversation, all: readonly Act[], from: number) => {
  const words: string[] = []
  for (const [index, act] of all.entries()) words.push(...(await carryOut(chat, act, from + index)))
  return words
}

const expectHeld = async (whileRunning: readonly Act[], after: readonly Act[]): Promise<void> => {
  const first = { content: [use, toolUse('a')] }
  const { api, chat, turn } = await scene([
    first,
    // The first turn ends at the results.
    { status: 400, type: 'invalid_request_error', message: 'no' },
    { content: [found, text('So.')] },
    { content: [text('Well.')] },
  ])
  for (let n = 0; n < 6; n++)
    await chat.append({ role: n % 2 ? 'user' : 'assistant', content: `Before ${n}.` })
  const words: string[] = []
  const run = async (): Promise<string> => {
    words.push(...(await carryOutAll(chat, whileRunning, 0)))
    return 'done'
  }
  await expect(turn({ run: { run } })).rejects.toMatchObject({ _tag: 'ModelFailed' })
  words.push(...(await carryOutAll(chat, after, whileRunning.length)))
  await turn()

  expect(api.requests.map(({ status }) => status)).toEqual([
    200,
    400,
    ...(words.length > 0 ? [200, 200] : [200]),
  ])
  const shown = (await chat.effective()).map((item) => JSON.stringify(item))
  const placeOf = (part: string): readonly number[] =>
    shown.flatMap((item, index) => (item.includes(part) ? [index] : []))
  const reply = placeOf('web_search_tool_result')
  expect([placeOf('"tool_use"'), placeOf('"tool_result"'), reply].map(({ length }) => length)).toEqual([
    1, 1, 1,
  ])
  const last = JSON.stringify(api.requests.at(-1)?.body?.messages)
  for (const word of words) {
    expect(placeOf(word)).toEqual([expect.any(Number)])
    expect(placeOf(word)[0]).toBeGreaterThan(reply[0] ?? Infinity)
    expect(last.split(word)).toHaveLength(2)
  }
  expect(last).not.toContain('hidden')
  expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
}

describe('whatever happens between the results of a tool that was called beside a search and the next reply', () => {
  it('the request is valid, the search stays, and what the user said comes once, after the reply', () =>
    fc.assert(fc.asyncProperty(anyActs, anyActs, expectHeld), { numRuns: runs(40) }))

  it('so a configuration and a summary after what was said while the tool ran', () =>
    expectHeld(['say', 'configure', 'condense'], ['condense', 'show', 'truncate', 'say']))
})
