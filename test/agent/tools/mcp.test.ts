import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as NextClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as NextTransport } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type ListToolsResult,
  type ServerNotification,
} from '@modelcontextprotocol/sdk/types.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AnyBlock, isBlock } from '../../../src/events/blocks.ts'
import { mcpTools } from '../../../src/index.ts'
import type { McpOptions } from '../../../src/agent/tools/mcp.ts'
import type { Tool } from '../../../src/agent/tools/tool.ts'
import { atEnd } from '../../support/at-end.ts'
import { text, toolUse } from '../../support/log.ts'
import { node } from '../../support/node.ts'
import { runs } from '../../support/runs.ts'
import { scene, yes } from '../../support/turn-scene.ts'
import { png } from '../../support/pictures.ts'

type Listed = ListToolsResult['tools'][number]
interface Extra {
  readonly signal: AbortSignal
  readonly sendNotification: (notification: ServerNotification) => Promise<void>
}
type Answer = (params: CallToolRequest['params'], extra: Extra) => Promise<CallToolResult> | CallToolResult

const inputSchema: Listed['inputSchema'] = { type: 'object', properties: { a: { type: 'string' } } }
const listed = (name: string, more: Partial<Listed> = {}): Listed => ({ name, inputSchema, ...more })

/** A client, connected to a server that has these pages of tools. */
const connected = async (pages: (cursor?: string) => ListToolsResult, answer: Answer): Promise<Client> => {
  const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => pages(params?.cursor))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => answer(params, extra))
  const client = new Client({ name: 'test', version: '1' })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(theirs), client.connect(ours)])
  atEnd(() => client.close())
  return client
}

const toolsOf = async (tools: readonly Listed[], options?: McpOptions): Promise<readonly Tool[]> =>
  mcpTools(
    await connected(
      () => ({ tools: [...tools] }),
      () => ({ content: [] }),
    ),
    options,
  )

/** What the model gets that calls the tool `a` of a server that answers so, and what the turn was told meanwhile. */
const resultOf = async (answer: Answer, options: McpOptions = {}) => {
  const client = await connected(() => ({ tools: [listed('a')] }), answer)
  const { api, turn } = await scene([{ content: [{ ...toolUse('c'), name: 'a', input: { a: 'x' } }] }, yes])
  const progress: unknown[] = []
  const onEvent = (event: { readonly type: string; readonly text?: unknown }): void => {
    if (event.type === 'tool-progress') progress.push(event.text)
  }
  await turn({ tools: await mcpTools(client, options), onEvent })
  expect(api.requests.map(({ status }) => status)).toEqual([200, 200])
  const blocks = api.requests[1]?.body?.messages.at(-1)?.content ?? []
  const result =
    typeof blocks === 'string' ? undefined : blocks.find((block) => isBlock(block, 'tool_result'))
  return { content: result?.content, is_error: result?.is_error, progress }
}

describe('the tools of an MCP server', () => {
  it('are those of all pages, as the server names and describes them', async () => {
    const asked: unknown[] = []
    const client = await connected(
      (cursor) => {
        asked.push(cursor)
        const n = Number(cursor ?? 0)
        return {
          tools: [listed(`t${n}`, { description: `Tool ${n}.` })],
          ...(n < 2 && { nextCursor: `${n + 1}` }),
        }
      },
      ({ name }) => ({ content: [{ type: 'text', text: name }] }),
    )
    const tools = await mcpTools(client)
    expect(asked).toEqual([undefined, '1', '2'])
    expect(tools.map(({ definition }) => definition)).toEqual(
      [0, 1, 2].map((n) => ({ name: `t${n}`, description: `Tool ${n}.`, input_schema: inputSchema })),
    )
  })

  it('have schemas that the API accepts: in its dialect, without a union at the top', async () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      ...inputSchema,
      anyOf: [{ required: ['a'] }],
    }
    const [tool] = await toolsOf([listed('a', { inputSchema: schema, description: ' ' })])
    expect(tool?.definition).toEqual({ name: 'a', input_schema: inputSchema })
  })

  it('are called by the name that the server knows, with the input of the model', async () => {
    const asked: unknown[] = []
    const client = await connected(
      () => ({ tools: [listed('files/read.all')] }),
      ({ name, arguments: given }) => (asked.push([name, given]), { content: [] }),
    )
    const [tool] = await mcpTools(client, { prefix: 'my ' })
    const { api, turn } = await scene([
      { content: [{ ...toolUse('c'), name: 'my_files_read_all', input: { a: 1 } }] },
      yes,
    ])
    await turn({ tools: [tool as Tool] })
    expect(api.requests.map(({ status }) => status)).toEqual([200, 200])
    expect(asked).toEqual([['files/read.all', { a: 1 }]])
  })

  it('are an error if they cannot be listed, or the server lists without end', async () => {
    const endless = await connected(
      () => ({ tools: [listed('a')], nextCursor: 'a' }),
      () => ({ content: [] }),
    )
    await expect(mcpTools(endless)).rejects.toMatchObject({
      _tag: 'McpFailed',
      message: expect.stringContaining('the same page'),
    })
    await endless.close()
    await expect(mcpTools(endless)).rejects.toMatchObject({
      _tag: 'McpFailed',
      message:
        'the tools of the MCP server cannot be listed (Error: Not connected): connect the client first, and try again',
    })
    await expect(mcpTools(endless, { prefx: 'a' } as McpOptions)).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: 'prefx',
    })
  })
})

describe('the name of a tool', () => {
  const namesOf = async (names: readonly string[], options?: McpOptions): Promise<readonly string[]> =>
    (
      await toolsOf(
        names.map((name) => listed(name)),
        options,
      )
    ).map(({ definition }) => definition.name)

  it('is made one that the API accepts, always the same', async () => {
    const long = 'x'.repeat(63)
    const names = await namesOf(['a.b', 'ä/c', `${long}1`, `${long}2`, `${long}.3`, ''])
    expect(names.slice(0, 3)).toEqual(['a_b', '__c', `${long}1`])
    expect(names.slice(4)).toEqual([expect.stringMatching(/^x{55}_[0-9a-f]{8}$/), '_'])
    expect(await namesOf([`${long}.3`])).toEqual([names[4]])
  })

  it('may get a prefix, be another one, or leave the tool out', async () => {
    expect(await namesOf(['a', 'b'], { prefix: 'x_' })).toEqual(['x_a', 'x_b'])
    const rename = (name: string): string | undefined => (name === 'a' ? undefined : `${name}${name}`)
    expect(await namesOf(['a', 'b'], { prefix: 'x_', rename })).toEqual(['x_bb'])
  })

  it('that two would have is an error that names both', async () => {
    await expect(namesOf(['a.b', 'a_b'])).rejects.toMatchObject({
      _tag: 'ToolNameTaken',
      taken: 'a_b',
      tools: ['a.b', 'a_b'],
    })
    expect(await namesOf(['a.b', 'a_b'], { rename: (name) => name.replace('.', '__') })).toEqual([
      'a__b',
      'a_b',
    ])
  })

  it('is valid and its own, or an error, whatever the server calls its tools', async () => {
    const name = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 80 }),
      fc.string({ minLength: 60, maxLength: 130 }),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(name, { maxLength: 6 }),
        fc.string({ maxLength: 9 }),
        async (all, prefix) => {
          const named = await namesOf(all, { prefix }).catch((error: { readonly _tag: string }) => error._tag)
          const plain = all.map((each) => `${prefix}${each}`.replaceAll(/[^\w-]/g, '_') || '_')
          const short = plain.filter(({ length }) => length <= 64)
          if (new Set(short).size < short.length) {
            expect(named).toBe('ToolNameTaken')
            return
          }
          expect(new Set(named)).toHaveProperty('size', all.length)
          for (const each of named) expect(each).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
        },
      ),
      { numRuns: runs(100) },
    )
  })
})

describe('the result of a call', () => {
  const bytes = png().toString('base64')
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: bytes } }
  const link = { type: 'resource_link', uri: 'file:///a.txt', name: 'a.txt', mimeType: 'text/plain' } as const

  it.each([
    ['a text', { content: [{ type: 'text', text: 'Done.' }] }, [text('Done.')]],
    ['nothing', { content: [] }, []],
    ['a picture', { content: [{ type: 'image', data: bytes, mimeType: 'image/png' }] }, [picture]],
    [
      'audio, which the model cannot hear',
      { content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }] },
      [text('[audio, audio/wav, 3 bytes: recorded, but you cannot be shown it]')],
    ],
    [
      'a text of a resource',
      { content: [{ type: 'resource', resource: { uri: 'file:///a', text: 'Inside.' } }] },
      [text('[resource, file:///a]\nInside.')],
    ],
    [
      'a picture of a resource',
      { content: [{ type: 'resource', resource: { uri: 'file:///a', blob: bytes } }] },
      [text('[resource, file:///a]'), picture],
    ],
    ['a link', { content: [link] }, [text('[resource_link, a.txt, file:///a.txt, text/plain]')]],
    ['structured content', { content: [], structuredContent: { sum: 3 } }, [text('{"sum":3}')]],
    [
      'structured content that is said in a text',
      { content: [{ type: 'text', text: '{"sum":3}' }], structuredContent: { sum: 3 } },
      [text('{"sum":3}')],
    ],
    [
      'what the protocol does not know',
      { content: [{ type: 'text', text: 'Done.' }], resultType: 'complete' },
      [text('Done.')],
    ],
  ] as const)('is shown to the model: %s', async (_, answer, content) => {
    const { is_error, ...result } = await resultOf(() => answer as unknown as CallToolResult)
    expect([result.content ?? [], is_error]).toEqual([content, undefined])
  })

  it('is an error if the server says so, refuses the call, or is gone', async () => {
    expect(await resultOf(() => ({ content: [{ type: 'text', text: 'No.' }], isError: true }))).toMatchObject(
      { content: [text('No.')], is_error: true },
    )
    expect(
      await resultOf(() => {
        throw new Error('out of cheese')
      }),
    ).toMatchObject({ content: expect.stringContaining('out of cheese'), is_error: true })
    const client = await connected(
      () => ({ tools: [listed('a')] }),
      () => ({ content: [] }),
    )
    const [tool] = await mcpTools(client)
    await client.close()
    const { api, turn } = await scene([{ content: [{ ...toolUse('c'), name: 'a' }] }, yes])
    await turn({ tools: [tool as Tool] })
    expect(JSON.stringify(api.requests[1]?.body)).toContain(
      '"is_error":true,"content":"Error: Not connected"',
    )
  })
})

describe('a call', () => {
  it('tells of its progress while it runs', async () => {
    const { progress, content } = await resultOf(async ({ _meta }, { sendNotification }) => {
      const told = [
        { progress: 1 },
        { progress: 1, total: 2 },
        { progress: 2, total: 2, message: 'Counted.' },
      ]
      for (const each of told)
        await sendNotification({
          method: 'notifications/progress',
          params: { ...each, progressToken: _meta?.progressToken ?? '' },
        })
      return { content: [{ type: 'text', text: 'Done.' }] }
    })
    expect([progress, content]).toEqual([['1', '1 of 2', 'Counted.'], [text('Done.')]])
  })

  it('is cancelled at the server if the turn is aborted', async () => {
    const user = new AbortController()
    const { promise: cancelled, resolve } = Promise.withResolvers<void>()
    const client = await connected(
      () => ({ tools: [listed('a')] }),
      async (_, { signal }) => {
        signal.addEventListener('abort', () => resolve())
        user.abort()
        await cancelled
        return { content: [] }
      },
    )
    const { chat, turn } = await scene([{ content: [{ ...toolUse('c'), name: 'a' }] }])
    await expect(turn({ tools: await mcpTools(client), signal: user.signal })).rejects.toMatchObject({
      _tag: 'ModelAborted',
    })
    await cancelled
    expect(JSON.stringify(await chat.effective())).toContain(
      'The call was interrupted by the user. It was cut off; whether it took effect is not known.',
    )
  })

  it('is cancelled at the server if its time is up, and its result says so', async () => {
    const { promise: cancelled, resolve } = Promise.withResolvers<void>()
    const answer: Answer = async (_, { signal }) => {
      signal.addEventListener('abort', () => resolve())
      await cancelled
      return { content: [] }
    }
    const { content, is_error } = await resultOf(answer, { timeout: 20 })
    await cancelled
    expect([content, is_error]).toEqual([
      'It took longer than 20 ms and was given up. It was cut off; whether it took effect is not known.',
      true,
    ])
  })
})

describe('what a server says of a tool', () => {
  const reads = { readOnlyHint: true }
  const destroys = { destructiveHint: true }
  const repeats = { idempotentHint: true }
  const both = [undefined, true] as const

  it.each([
    ['nothing', {}, { effect: 'unsafe', approve: false }, { effect: 'unsafe', approve: false }],
    ['that it reads only', reads, { effect: 'unsafe', approve: false }, { effect: 'none', approve: false }],
    ['that it destroys', destroys, { effect: 'unsafe', approve: true }, { effect: 'unsafe', approve: true }],
    [
      'that it does not destroy',
      { destructiveHint: false },
      { effect: 'unsafe', approve: false },
      { effect: 'unsafe', approve: false },
    ],
    [
      'that it may be repeated',
      repeats,
      { effect: 'unsafe', approve: false },
      { effect: 'idempotent', approve: false },
    ],
    [
      'that it destroys, and may be repeated',
      { ...destroys, ...repeats },
      { effect: 'unsafe', approve: true },
      { effect: 'idempotent', approve: true },
    ],
    [
      'that it destroys and reads only',
      { ...destroys, ...reads },
      { effect: 'unsafe', approve: true },
      { effect: 'none', approve: false },
    ],
  ])(
    'counts, if the hints are trusted, except for a warning, which always counts: %s',
    async (_, annotations, doubted, trusted) => {
      for (const trustHints of both) {
        const [tool] = await toolsOf([listed('a', { annotations })], { ...(trustHints && { trustHints }) })
        expect(tool).toMatchObject(trustHints ? trusted : doubted)
      }
    },
  )

  it('does not count against the caller', async () => {
    const [tool] = await toolsOf([listed('a', { annotations: destroys })], { approve: false, timeout: 5 })
    expect(tool).toMatchObject({ approve: false, timeout: 5 })
    const approve = (): boolean => true
    expect(await toolsOf([listed('a', { annotations: reads })], { approve, trustHints: true })).toMatchObject(
      [{ approve }],
    )
  })
})

describe('a server in a process of its own', () => {
  const implementation = { name: 'test', version: '1' }
  const program = fileURLToPath(new URL('children/files-server.ts', import.meta.url))
  const server = { command: node, args: ['--disable-warning=ExperimentalWarning', program] }

  it.each([
    [
      'this version',
      async () => {
        const client = new Client(implementation)
        await client.connect(new StdioClientTransport(server))
        return client
      },
    ],
    [
      'the next version',
      async () => {
        const client = new NextClient(implementation)
        await client.connect(new NextTransport(server))
        return client
      },
    ],
  ])('gives its tools to a turn, through a client of %s', async (_, connect) => {
    const folder = await mkdtemp(join(tmpdir(), 'palimpsest-mcp-'))
    atEnd(() => rm(folder, { recursive: true, force: true }))
    const path = join(folder, 'a.txt')
    await writeFile(path, 'Inside.')
    const client = await connect()
    atEnd(() => client.close())
    const use = (name: string): AnyBlock => ({ ...toolUse(name), name: `files_${name}`, input: { path } })
    const { api, chat, turn } = await scene([{ content: [use('read')] }, { content: [use('wait')] }])
    const tools = await mcpTools(client, { prefix: 'files_' })
    expect(tools.filter(({ approve }) => approve).map(({ definition }) => definition.name)).toEqual([
      'files_delete',
    ])
    const user = new AbortController()
    const turned = turn({
      tools,
      onEvent: ({ type, text: told }) => {
        if (type === 'tool-progress' && told === 'Waiting.') user.abort()
      },
      signal: user.signal,
    })
    await expect(turned).rejects.toMatchObject({ _tag: 'ModelAborted' })
    expect(api.requests[1]?.body?.messages.at(-1)?.content).toMatchObject([{ content: [text('Inside.')] }])
    expect(JSON.stringify(await chat.effective())).toContain(
      'The call was interrupted by the user. It was cut off; whether it took effect is not known.',
    )
    await expect.poll(() => readFile(path, 'utf8')).toBe('Cancelled.')
  })
})
