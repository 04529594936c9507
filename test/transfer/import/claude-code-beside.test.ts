import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { storeOn, taskStore } from '../../../src/api/open.ts'
import { promiseStore } from '../../../src/api/promises.ts'
import type { ConversationInfo, Store } from '../../../src/index.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { Fields } from '../../../src/events/json.ts'

const memory = (): Store => promiseStore(taskStore(storeOn(memoryStore(), { kind: 'test' })))
const jsonl = (entries: readonly Fields[]): string => entries.map((entry) => JSON.stringify(entry)).join('\n')
const user = (uuid: string, parentUuid: string | null, content: unknown, more: Fields = {}): Fields => ({
  sessionId: 's',
  uuid,
  parentUuid,
  type: 'user',
  message: { role: 'user', content },
  ...more,
})
const custom = (customTitle: string): Fields => ({ type: 'custom-title', customTitle, sessionId: 's' })
const ai = (aiTitle: string): Fields => ({ type: 'ai-title', aiTitle, sessionId: 's' })
const said = user('u', null, 'Fix it.')
const agents = (uuid: string, agentId: string, call: string): Fields =>
  user(uuid, 'u', [{ type: 'tool_result', tool_use_id: call, content: 'done' }], {
    toolUseResult: { agentId },
  })
const sidechain = user('a', null, 'Look.', { isSidechain: true, agentId: 'a7' })

const imported = async (store: Store, entries: readonly Fields[], id?: string) =>
  store.importSession({ text: jsonl(entries), file: 'f', ...(id !== undefined && { id }) })
const titles = async (store: Store): Promise<readonly unknown[]> =>
  (await store.conversation('s').notes({ kind: 'title' })).map(({ data }) => data)

describe('Claude Code: titles', () => {
  it('become notes, each once, and what the user chose is not overruled', async () => {
    const store = memory()
    const { report } = await imported(store, [
      said,
      ai('One'),
      ai('One'),
      ai('Two'),
      custom('Mine'),
      ai('Three'),
      custom('Mine'),
    ])
    expect(await titles(store)).toEqual(['One', 'Two', 'Mine'])
    expect(report.mapped).toEqual(
      expect.arrayContaining([
        { kind: 'ai-title', count: 4 },
        { kind: 'custom-title', count: 2 },
      ]),
    )
  })

  it('of another session are left out', async () => {
    const store = memory()
    const of = (leafUuid: string, summary: string): Fields => ({ type: 'summary', summary, leafUuid })
    const { report } = await imported(store, [of('elsewhere', 'Other'), of('u', 'Own'), said])
    expect(await titles(store)).toEqual(['Own'])
    expect(report.leftOut).toEqual([{ kind: 'summary', count: 1, reason: 'a title of another session' }])
  })

  it('are added once, those that came since too, also to what was imported without them', async () => {
    const store = memory()
    const told: unknown[] = []
    for (const more of [
      [],
      [ai('One')],
      [ai('One')],
      [ai('One'), ai('Two'), custom('Mine'), custom('Other')],
    ])
      told.push(...(await imported(store, [said, ...more])).conversations)
    expect(told).toEqual([
      { id: 's', added: 1, events: 1 },
      { id: 's', added: 0, events: 1, notes: 1 },
      { id: 's', added: 0, events: 1 },
      { id: 's', added: 0, events: 1, notes: 3 },
    ])
    expect(await titles(store)).toEqual(['One', 'Two', 'Mine', 'Other'])
    expect(await store.conversation('s').verify()).toMatchObject({ events: 1, notes: 4 })
  })
})

describe('Claude Code: subagents', () => {
  it('in the file of their session are linked to it, with the call that started them', async () => {
    const store = memory()
    await imported(store, [said, sidechain, agents('r', 'a7', 'toolu_1')])
    const [link] = await store.conversation('s:a7').links()
    expect(link).toMatchObject({ from: 's:a7', relation: 'subagent-of', conversation: 's', call: 'toolu_1' })
    expect(await store.conversation('s').links()).toEqual([link])
  })

  it('in a file of their own are linked from both ends, whichever comes first', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
      [0, 1, 0, 1],
    ]) {
      const store = memory()
      const files = [[said, agents('r', 'a7', 'toolu_1')], [sidechain]]
      for (const file of order) await imported(store, files[file] ?? [])
      expect(await store.conversation('s').links()).toMatchObject([
        { from: 's', relation: 'has-subagent', conversation: 's:a7', call: 'toolu_1' },
        { from: 's:a7', relation: 'subagent-of', conversation: 's' },
      ])
      expect(await store.conversation('s:a7').links()).toHaveLength(2)
    }
  })

  it('are linked to the id under which the session is imported', async () => {
    const store = memory()
    await imported(store, [said, sidechain], 'mine')
    expect(await store.conversation('mine-2').links()).toMatchObject([{ conversation: 'mine' }])
  })

  it('of a real session know the call that started them', async () => {
    const store = memory()
    const folder = new URL('../../samples/claude-code/', import.meta.url)
    const [session, subagent] = [
      'session-with-compaction.jsonl',
      'session-with-compaction.subagents/agent-a51c09e.jsonl',
    ]
    for (const file of [session, subagent])
      await store.importSession({ text: readFileSync(new URL(file, folder), 'utf8'), file })
    let child: ConversationInfo | undefined
    for await (const overview of store.conversations()) if (overview.parent !== undefined) child = overview
    const links = await store.conversation(child?.id ?? '').links()
    expect(links).toMatchObject([
      { relation: 'subagent-of', conversation: child?.parent },
      { from: child?.parent, relation: 'has-subagent', call: expect.stringMatching(/^toolu_/) },
    ])
  })
})
