import { describe, expect, it } from 'vitest'
import type { Block } from '../../../src/events/blocks.ts'
import type { Conversation } from '../../../src/index.ts'
import { text, toolResult, toolUse } from '../../support/log.ts'
import type { ApiReply } from '../../../src/testing/messages-api/replies.ts'
import type { MessagesApi } from '../../../src/testing/messages-api/server.ts'
import { scene } from '../../support/turn-scene.ts'

const use = (id: string): Block => ({ type: 'server_tool_use', id, name: 'web_search', input: {} })
const found = (id: string): Block => ({ type: 'web_search_tool_result', tool_use_id: id, content: [] })
const says = (...content: readonly Block[]): ApiReply => ({ content })
const thought: Block = { type: 'thinking', thinking: 'Hm.' }
const run = { run: () => 'done' }
const parameters = { thinking: { type: 'adaptive' } }

const wordOf = ({ type, text: said, id, tool_use_id: of }: Block): string =>
  type === 'text'
    ? said
    : type === 'thinking'
      ? 'hm'
      : `${String(id ?? of)}${type.endsWith('result') ? '!' : '?'}`
const lineOf = ({ role, content }: { readonly role: string; readonly content: unknown }): string =>
  `${role}: ${typeof content === 'string' ? content : (content as readonly Block[]).map(wordOf).join(' ')}`

/** What each request held, the first message left out; all must have been accepted. */
const sent = ({ requests }: MessagesApi): readonly (readonly string[])[] => {
  expect(requests.map(({ status }) => status)).toEqual(requests.map(() => 200))
  return requests.map(({ body }) => (body?.messages ?? []).slice(1).map(lineOf))
}
const shown = async (chat: Conversation): Promise<readonly string[]> =>
  (await chat.effective()).slice(1).flatMap((item) => (item.kind === 'message' ? [lineOf(item)] : []))

const both = says(thought, use('s'), toolUse('a'))
const result = 'user: a!'

describe('a turn', () => {
  it('continues a reply that was paused while a server tool runs', async () => {
    const pause = { ...says(thought, text('I look.'), use('s')), stop_reason: 'pause_turn' } as const
    const { api, chat, turn } = await scene([pause, says(found('s'), thought, text('So.'))])
    expect(await turn({ parameters })).toMatchObject({ calls: 2, stopReason: 'end_turn' })
    await chat.append({ role: 'user', content: 'Thanks.' })
    await turn({ parameters })
    expect(sent(api).slice(1)).toEqual([
      ['assistant: hm I look. s?'],
      ['assistant: hm I look. s? s! hm So.', 'user: Thanks.'],
    ])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 3, findings: [] })
  })

  it('keeps the search that was asked for beside a client tool', async () => {
    const { api, chat, turn } = await scene([both, says(found('s'), thought, text('So.'))])
    await turn({ parameters, run })
    await chat.append({ role: 'user', content: 'Thanks.' })
    await turn({ parameters, run })
    expect(sent(api).slice(1)).toEqual([
      ['assistant: hm s? a?', result],
      ['assistant: hm s? a?', result, 'assistant: s! hm So.', 'user: Thanks.'],
    ])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 3, findings: [] })
  })

  it('holds back what the user says while the tool runs until the search is there, then answers it', async () => {
    const { api, chat, turn } = await scene([both, says(found('s'), text('So.')), says(text('Well.'))])
    const meanwhile = { run: () => chat.append({ role: 'user', content: 'Well?' }).then(() => 'done') }
    const turned = await turn({ parameters, run: meanwhile })
    const all = ['assistant: hm s? a?', result, 'assistant: s! So.', 'user: Well?']
    expect(sent(api).slice(1)).toEqual([all.slice(0, 2), all])
    expect(turned).toMatchObject({ calls: 3, content: [text('Well.')] })
    expect(await shown(chat)).toEqual([...all, 'assistant: Well.'])
    expect(turned.position).toBe(await chat.position())
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 3, findings: [] })
  })

  it('records the reply before what it holds back although markers came while the model replied, and keeps them', async () => {
    const replied = async (): Promise<ApiReply> => {
      await chat.condense({ covers: { first: 1, last: 2 }, summary: 'It was not.' })
      await chat.truncate({ covers: { first: 3, last: 3 } })
      return says(found('s'), text('So.'))
    }
    const { api, chat, turn } = await scene([says(use('s'), toolUse('a')), replied, says(text('Well.'))])
    await chat.append([
      { role: 'assistant', content: 'No.' },
      { role: 'user', content: 'Look.' },
      { role: 'user', content: 'Now.' },
    ])
    const meanwhile = { run: () => chat.append({ role: 'user', content: 'Well?' }).then(() => 'done') }
    await turn({ parameters, run: meanwhile })
    const all = ['assistant: s? a?', result, 'assistant: s! So.', 'user: Well?']
    expect(sent(api).at(-1)?.slice(-4)).toEqual(all)
    expect(await shown(chat)).toEqual([...all, 'assistant: Well.'])
    expect((await chat.effective()).map(({ kind }) => kind).slice(0, 3)).toEqual([
      'message',
      'summary',
      'truncation',
    ])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 3, findings: [] })
  })

  /** What may happen to what is shown while the model replies; each leaves all of the conversation shown. */
  const changes: readonly (readonly [string, (chat: Conversation) => Promise<unknown>])[] = [
    ['restores what was hidden before', (chat) => chat.restore({ marker: 4 })],
    [
      'condenses and restores that',
      async (chat) => {
        await chat.restore({ marker: 4 })
        const { position } = await chat.condense({ covers: { first: 1, last: 2 }, summary: 'It was not.' })
        await chat.restore({ marker: position })
      },
    ],
    [
      'condenses and takes that back',
      async (chat) => {
        await chat.restore({ marker: 4 })
        await chat.condense({ covers: { first: 1, last: 2 }, summary: 'It was not.' })
        await chat.undo()
      },
    ],
  ]
  /** A conversation of which a part is hidden by the marker at 4. */
  const condensed = async (chat: Conversation): Promise<void> => {
    await chat.append([
      { role: 'assistant', content: 'No.' },
      { role: 'user', content: 'Look.' },
      { role: 'user', content: 'Now.' },
    ])
    await chat.condense({ covers: { first: 1, last: 2 }, summary: 'It was not there.' })
  }
  const first = ['assistant: No.', 'user: Look.', 'user: Now.']

  describe.each(changes)('beside somebody who %s while the model replies', (_, change) => {
    it('records what continues a paused reply', async () => {
      const pause = { ...says(text('I look.'), use('s')), stop_reason: 'pause_turn' } as const
      const changed = async (): Promise<ApiReply> => {
        await change(chat)
        return says(found('s'), text('So.'))
      }
      const { api, chat, turn } = await scene([pause, changed])
      await condensed(chat)
      expect(await turn()).toMatchObject({ calls: 2, stopReason: 'end_turn' })
      expect(sent(api)).toHaveLength(2)
      expect(await shown(chat)).toEqual([...first, 'assistant: I look. s?', 'assistant: s! So.'])
      expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
    })

    it('records the reply before what it holds back', async () => {
      const changed = async (): Promise<ApiReply> => {
        await change(chat)
        return says(found('s'), text('So.'))
      }
      const { api, chat, turn } = await scene([says(use('s'), toolUse('a')), changed, says(text('Well.'))])
      await condensed(chat)
      await turn({ run: { run: () => chat.append({ role: 'user', content: 'Well?' }).then(() => 'done') } })
      const all = ['assistant: s? a?', result, 'assistant: s! So.', 'user: Well?']
      expect(sent(api).at(-1)).toEqual(['assistant: No.', 'user: Look. Now.', ...all])
      expect(await shown(chat)).toEqual([...first, ...all, 'assistant: Well.'])
      expect(await chat.verifyReceipts()).toMatchObject({ receipts: 3, findings: [] })
      expect((await chat.verify()).discrepancy).toBeUndefined()
    })
  })

  it('holds back what the user says while the tool runs although something was restored after it', async () => {
    const { api, chat, turn } = await scene([
      says(use('s'), toolUse('a')),
      says(found('s'), text('So.')),
      says(text('Well.')),
    ])
    await condensed(chat)
    const meanwhile = async (): Promise<string> => {
      await chat.append({ role: 'user', content: 'Well?', shown: { content: 'Well!' } })
      await chat.undo()
      await chat.restore({ marker: 4 })
      return 'done'
    }
    await turn({ run: { run: meanwhile } })
    const all = ['assistant: s? a?', result, 'assistant: s! So.', 'user: Well?']
    expect(sent(api).at(-1)).toEqual(['assistant: No.', 'user: Look. Now.', ...all])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 3, findings: [] })
  })

  it('records the reply although what it holds back was rewound while the model replied', async () => {
    const changed = async (): Promise<ApiReply> => {
      await chat.rewind({ turns: 1 })
      return says(found('s'), text('So.'))
    }
    const { chat, turn } = await scene([says(use('s'), toolUse('a')), changed])
    const meanwhile = { run: () => chat.append({ role: 'user', content: 'Well?' }).then(() => 'done') }
    expect(await turn({ run: meanwhile })).toMatchObject({ calls: 2 })
    expect((await shown(chat)).at(-1)).toBe('assistant: s! So.')
  })

  describe('that begins after what the user said, since one before it ended at the results', () => {
    const configuration = { model: 'claude-opus-5-5', parameters: { max_tokens: 8_192 } }
    const left = [
      { role: 'assistant' as const, content: [use('s'), toolUse('a')] },
      { role: 'user' as const, content: [toolResult('a')] },
      { role: 'user' as const, content: 'Well?' },
      { role: 'user' as const, content: 'Hello?' },
    ]

    it('holds that back', async () => {
      const { api, chat, turn } = await scene([says(found('s'), text('So.')), says(text('Well.'))])
      await chat.configure(configuration)
      await chat.append(left)
      await turn({ run })
      const all = ['assistant: s? a?', result, 'assistant: s! So.', 'user: Well? Hello?']
      expect(sent(api)).toEqual([all.slice(0, 2), all])
    })

    it('holds that back where something else has happened since: the log is given such a moment', async () => {
      const { api, chat, turn } = await scene([says(found('s'), text('So.')), says(text('Well.'))])
      await chat.append(left)
      await chat.configure(configuration)
      await turn({ run })
      const all = ['assistant: s? a?', result, 'assistant: s! So.', 'user: Well? Hello?']
      expect(sent(api)).toEqual([all.slice(0, 2), all])
      expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
    })

    it('holds that back if it is an edit of something longer', async () => {
      const { api, chat, turn } = await scene([says(found('s'), text('So.')), says(text('Well.'))])
      await chat.append([...left, { role: 'user', content: 'A long log.', shown: { content: 'A log.' } }])
      await turn({ run })
      const all = ['assistant: s? a?', result, 'assistant: s! So.', 'user: Well? Hello? A log.']
      expect(sent(api)).toEqual([all.slice(0, 2), all])
      expect(JSON.stringify(await chat.full())).toContain('A long log.')
    })

    it('leaves the use out if a summary replaces a part of that', async () => {
      const { api, chat, turn } = await scene([says(text('Well.'))])
      const { position } = await chat.append(left)
      await chat.condense({ covers: { first: position - 1, last: position }, summary: 'He waits.' })
      await turn({ run })
      expect(sent(api)).toEqual([['assistant: a?', 'user: a! He waits.']])
    })
  })

  it('runs the tools that the reply with the search calls; what was held back still comes after their results', async () => {
    const next = says(found('s'), toolUse('b'))
    const { api, chat, turn } = await scene([both, next, says(text('Well.'))])
    let runs = 0
    const once = async (): Promise<string> => {
      if (runs++ === 0) await chat.append({ role: 'user', content: 'Well?' })
      return 'done'
    }
    await turn({ parameters, run: { run: once } })
    expect(sent(api).at(-1)).toEqual(['assistant: hm s? a?', result, 'assistant: s! b?', 'user: b! Well?'])
    expect(runs).toBe(2)
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 3, findings: [] })
  })

  it('holds it back through a pause, and through another search beside a tool', async () => {
    const pause = { ...says(found('s'), use('t')), stop_reason: 'pause_turn' } as const
    const more = says(found('t'), use('u'), toolUse('b'))
    const { api, chat, turn } = await scene([
      both,
      pause,
      more,
      says(found('u'), text('So.')),
      says(text('Well.')),
    ])
    let runs = 0
    const once = async (): Promise<string> => {
      if (runs++ === 0) await chat.append({ role: 'user', content: 'Well?' })
      return 'done'
    }
    await turn({ parameters, run: { run: once } })
    expect(sent(api).at(-1)).toEqual([
      'assistant: hm s? a?',
      result,
      'assistant: s! t? t! u? b?',
      'user: b!',
      'assistant: u! So.',
      'user: Well?',
    ])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 5, findings: [] })
  })
})
