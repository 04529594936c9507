import { describe, expect, test } from 'vitest'
import { type AnyBlock, type Conversation, openStore, unknownBlock } from '../../../src/index.ts'
import type { SessionFormatName } from '../../../src/transfer/formats/plan.ts'
import { clients, clientNamed } from '../../../src/transfer/formats/sessions/clients.ts'
import { type SessionExport, writeSession } from '../../../src/transfer/formats/sessions/write-session.ts'
import { patternRedactor } from '../../../src/transfer/disclosure/redact.ts'
import { readWithheld } from '../../../src/transfer/disclosure/withheld.ts'
import { itemUnits, messageUnits, type Unit } from '../../clients/units.ts'

// Small readers, written from the conditions under which each client continues a session, not from the importers.

// oxlint-disable-next-line typescript/no-explicit-any -- what a client would read, whatever it is
type Fields = Readonly<Record<string, any>>

const parse = (lines: Iterable<string>): readonly Fields[] =>
  [...lines]
    .join('')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Fields)

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const claudeCode = ({ id, path, lines }: SessionExport): readonly Unit[] => {
  const all = parse(lines)
  expect(path).toBe(`projects/-home-dana-my-project/${id}.jsonl`)
  const byId = new Map(all.map((line) => [line['uuid'], line]))
  expect(byId.size).toBe(all.length)
  const replies = all.filter(({ type }) => type === 'assistant').map(({ message }) => message.id as string)
  expect(new Set(replies).size).toBe(replies.length)
  const branch: Fields[] = []
  for (let line = all.at(-1); line; line = byId.get(line['parentUuid'])) branch.unshift(line)
  return messageUnits(
    branch.map(({ type, message, sessionId }) => {
      expect(sessionId).toBe(id)
      expect(message.role).toBe(type)
      return message as Fields
    }),
  )
}

const codex = ({ id, path, lines }: SessionExport): readonly Unit[] => {
  const [meta, ...all] = parse(lines)
  expect(path).toMatch(
    /^sessions\/\d{4}\/\d\d\/\d\d\/rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[0-9a-f-]{36}\.jsonl$/,
  )
  expect(path).toContain(id)
  expect(meta).toMatchObject({ type: 'session_meta', payload: { id, cwd: '/home/dana/my project' } })
  for (const field of ['timestamp', 'originator', 'cli_version'])
    expect(meta?.['payload'][field]).toBeTypeOf('string')
  for (const line of [meta, ...all]) expect(Date.parse(line?.['timestamp'])).not.toBeNaN()
  return itemUnits(all.filter(({ type }) => type === 'response_item').map(({ payload }) => payload as Fields))
}

const pi = ({ id, path, lines }: SessionExport): readonly Unit[] => {
  const [header, ...all] = parse(lines)
  expect(path).toMatch(/^sessions\/--home-dana-my project--\/[\dTZ-]+_[0-9a-f-]{36}\.jsonl$/)
  expect(header).toMatchObject({ type: 'session', version: 3, id, cwd: '/home/dana/my project' })
  let parent: unknown = null
  return all.flatMap(
    ({ type, id: entry, parentId, message: { role, content, ...message } }): readonly Unit[] => {
      expect([type, parentId]).toEqual(['message', parent])
      parent = entry
      if (role === 'toolResult') {
        expect(message.toolName).toBeTypeOf('string')
        return messageUnits([
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: message.toolCallId, content }] },
        ])
      }
      const blocks = (content as readonly Fields[]).map((block) =>
        block['type'] === 'toolCall' ? { ...block, type: 'tool_use', input: block['arguments'] } : block,
      )
      return messageUnits([{ role, content: blocks }])
    },
  )
}

/** Of opencode: results are in the replies that made the calls, so they come right after each. */
const opencode = ({ id, lines }: SessionExport): readonly Unit[] => {
  const { info, messages } = JSON.parse([...lines].join('')) as Fields
  expect(info).toMatchObject({ id, directory: '/home/dana/my project' })
  expect(id).toMatch(/^ses_\w{26}$/)
  const ids = (messages as readonly Fields[]).map((message) => message['info'].id as string)
  expect(ids).toEqual(ids.toSorted())
  let prompt = ''
  return (messages as readonly Fields[]).flatMap(
    ({ info: { role, id: own, sessionID, parentID }, parts }) => {
      expect(sessionID).toBe(id)
      if (role === 'user') prompt = own
      else expect(parentID).toBe(prompt)
      const results: Fields[] = []
      const content = (parts as readonly Fields[]).map((part) => {
        expect([part['sessionID'], part['messageID']]).toEqual([id, own])
        if (part['type'] === 'file') return { type: 'image' }
        if (part['type'] !== 'tool') return part
        const { input, output, error, status } = part['state'] as Fields
        expect(status === 'error' ? error : output).toBeTypeOf('string')
        results.push({ type: 'tool_result', tool_use_id: part['callID'], content: output ?? error })
        return { type: 'tool_use', id: part['callID'], name: part['tool'], input }
      })
      return [...messageUnits([{ role, content }]), ...messageUnits([{ role: 'user', content: results }])]
    },
  )
}

const readers: Readonly<Record<SessionFormatName, (session: SessionExport) => readonly Unit[]>> = {
  'claude-code': claudeCode,
  codex,
  pi,
  opencode,
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } } as const
const long = 'line of output\n'.repeat(1_000)

/** A conversation with everything that some client cannot hold. */
const conversation = async (): Promise<Conversation> => {
  const chat = (await openStore('memory:')).conversation('t')
  await chat.configure({ system: 'Be brief.', model: 'claude-opus-5-5' })
  await chat.append([
    { role: 'user', content: [{ type: 'text', text: 'Look at this.' }, image] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
        { type: 'text', text: 'Looking.' },
        { type: 'tool_use', id: 'toolu_1', name: 'Task', input: { prompt: 'Look' } },
        { type: 'tool_use', id: 'toolu_2', name: 'Read', input: { file: 'a.png' } },
      ],
      origin: { model: 'claude-opus-5-5' },
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: long },
        {
          type: 'tool_result',
          tool_use_id: 'toolu_2',
          content: [{ type: 'text', text: 'a.png' }, image],
          is_error: true,
        },
      ],
    },
    { role: 'system', content: 'The user is away.' },
    {
      role: 'assistant',
      content: [
        unknownBlock({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
        unknownBlock({ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }),
        { type: 'text', text: 'It is a dot.' },
      ],
      origin: { model: 'claude-opus-5-5' },
    },
    {
      role: 'user',
      content: [
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'A note.' } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' } },
        { type: 'image', source: { type: 'file', file_id: 'file_1' } },
        { type: 'text', text: 'And these?' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Elsewhere.', signature: 'other' },
        { type: 'text', text: 'Files.' },
      ],
      origin: { model: 'gpt-5' },
    },
  ])
  return chat
}

/** Losses in every client. */
const everywhere = [
  ['configuration', 0],
  ['left-out', 5],
  ['left-out', 5],
  ['media', 6],
  ['thinking', 7],
] as const

const ofClient: Readonly<Record<SessionFormatName, readonly (readonly [string, number])[]>> = {
  'claude-code': [
    ['tool-renamed', 2],
    ['system-message', 4],
  ],
  codex: [
    ['thinking', 2],
    ['output-cut', 3],
    ['media', 6],
  ],
  pi: [
    ['system-message', 4],
    ['media', 6],
  ],
  opencode: [
    ['thinking', 2],
    ['media', 3],
    ['system-message', 4],
    ['media', 6],
  ],
}

describe.each(Object.keys(clients) as readonly SessionFormatName[])('a session of %s', (name) => {
  const write = async (chat: Conversation, options = {}): Promise<SessionExport> =>
    writeSession(chat, clients[name], { cwd: '/home/dana/my project', ...options })

  test('is what the model sees, in order, and says what is lost', async () => {
    const session = await write(await conversation())
    const { lost } = session
    expect(lost.map(({ kind, position }) => [kind, position])).toEqual([...everywhere, ...ofClient[name]])
    for (const { detail } of lost) expect(detail).toMatch(/^\S.*\S$/)
    const units = readers[name](session)
    const documents = name === 'claude-code' ? ['document', 'document'] : ['A note.', '[a document was here]']
    const call = (id: string, tool: string, input: string): Unit => ['call', id, tool, input]
    const calls = [call('toolu_1', 'Task', '{"prompt":"Look"}'), call('toolu_2', 'Read', '{"file":"a.png"}')]
    const results = [
      ['result', 'toolu_1', long.trim()],
      ['result', 'toolu_2', name === 'opencode' ? 'a.png\n[an image was here]' : 'a.png'],
    ]
    expect(units).toEqual([
      ['user', 'Look at this.'],
      ['user', 'image'],
      ['assistant', 'Looking.'],
      ...calls,
      ...results,
      ['assistant', 'It is a dot.'],
      ...documents.map((text) => ['user', text]),
      ['user', '[image that is not available here]'],
      ['user', 'And these?'],
      ['assistant', 'Files.'],
    ])
  })

  test('is new each time, and never in a file of another session', async () => {
    const chat = await conversation()
    const [one, other] = [await write(chat), await write(chat)]
    expect(one.id).not.toBe(other.id)
    expect(one.path).not.toBe(other.path)
    if (name !== 'opencode') expect(one.id).toMatch(uuid)
  })

  test('shows erased and withheld content as such, and says so', async () => {
    const chat = await conversation()
    await chat.erase({ positions: [7], reason: 'asked for' })
    const withheld = await readWithheld(chat, [1], 7)
    const session = await write(chat, { withheld })
    const text = [...session.lines].join('')
    expect(text).not.toMatch(/Look at this|Files\./)
    expect(text).toContain('[withheld]')
    const kinds = session.lost.map(({ kind, position }) => `${kind} ${position}`)
    expect(kinds).toContain('erased 7')
    expect(kinds).toContain('withheld 1')
  })

  test('is of any position, also before a compaction', async () => {
    const chat = await conversation()
    await chat.condense({ keepFirst: 0, keepLast: 1, summary: 'What was said.' })
    const session = await write(chat, { at: 2 })
    expect(readers[name](session).slice(0, 3)).toEqual([
      ['user', 'Look at this.'],
      ['user', 'image'],
      ['assistant', 'Looking.'],
    ])
  })

  test('redacts what is to be redacted', async () => {
    const session = await write(await conversation(), {
      redact: patternRedactor(/dot/u),
    })
    const text = [...session.lines].join('')
    expect(text).toContain('It is a [redacted].')
    expect(text).not.toContain('dot')
  })
})

test('the library writes the same session, and no file', async () => {
  const chat = await conversation()
  const { path, ...session } = await chat.session({ format: 'pi', at: 2, cwd: '/home/dana/my project' })
  expect(pi({ path, ...session })).toHaveLength(7)
  expect(session).toMatchObject({
    way: 'rendered',
    messages: 3,
    lost: [{ kind: 'configuration', position: 0 }],
  })
  await expect(chat.session({ format: 'cursor' as 'pi' })).rejects.toMatchObject({
    _tag: 'InvalidInput',
    path: 'format',
  })
  await expect(chat.session({ format: 'pi', at: 99 })).rejects.toMatchObject({ _tag: 'OutOfRange' })
})

test('a client is named by its name or its program', () => {
  expect(clientNamed('claude')?.name).toBe('claude-code')
  expect(clientNamed('Codex')?.name).toBe('codex')
  expect(clientNamed('cursor')).toBe(undefined)
})

test('items that only Codex knows are in a rendered session of Codex as they came', async () => {
  const message = (role: string, text: string): Fields => {
    const type = role === 'user' ? 'input_text' : 'output_text'
    return { type: 'message', role, content: [{ type, text }] }
  }
  const searched = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } }
  const call = { type: 'tool_search_call', call_id: 't', execution: 'client', arguments: { query: 'mail' } }
  const output = {
    type: 'tool_search_output',
    call_id: 't',
    execution: 'client',
    status: 'completed',
    tools: [],
  }
  const compacted = { type: 'compaction', encrypted_content: 'gAAA' }
  const line = (type: string, payload: Fields): string => JSON.stringify({ type, payload })
  const items = (all: readonly Fields[]): readonly string[] => all.map((item) => line('response_item', item))
  const text = [
    line('session_meta', { id: 'c', cwd: '/' }),
    ...items([message('user', 'hidden'), message('assistant', 'hidden')]),
    line('compacted', { message: '', replacement_history: [message('user', 'first'), compacted] }),
    ...items([message('user', 'then'), searched, message('assistant', 'found')]),
    ...items([message('user', 'again'), call, output, message('assistant', 'done')]),
  ]
  const store = await openStore('memory:')
  await store.importSession({ file: 'c.jsonl', text: text.join('\n') })
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'here' })
  const options = { cwd: '/home/dana/my project' }
  const { way, lines, lost } = await chat.session({ format: 'codex', ...options })
  expect([way, lost]).toEqual(['rendered', []])
  const written = parse(lines).flatMap(({ type, payload }) =>
    type === 'response_item' ? [payload as Fields] : [],
  )
  expect(written).toEqual([
    message('user', 'first'),
    compacted,
    message('user', 'then'),
    searched,
    message('assistant', 'found'),
    message('user', 'again'),
    call,
    output,
    message('assistant', 'done'),
    message('user', 'here'),
  ])
  const again = await store.importSession({
    file: 'd.jsonl',
    text: [line('session_meta', { id: 'd' }), ...items(written)].join('\n'),
  })
  const blocks = (await store.conversation(again.conversations[0]?.id ?? '').effective()).flatMap((item) =>
    item.kind === 'message' ? item.content : [],
  )
  expect(blocks.filter((block) => (block as AnyBlock).type === 'responses_item')).toEqual(
    [compacted, searched, call, output].map((item) => ({ type: 'responses_item', item })),
  )
  const elsewhere = await chat.session({ format: 'pi', ...options })
  expect(elsewhere.lost.filter(({ kind }) => kind === 'left-out')).not.toEqual([])
  await store.close()
})
