import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, copyFileSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { text as textFrom } from 'node:stream/consumers'
import { Client as NextClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as NextTransport } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { node } from '../support/node.ts'
import { inDirectory, program } from './palimpsest.ts'

const start = async (
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command: node,
      args: [await program(), 'mcp', ...args],
      cwd,
      env: { HOME: cwd, PATH: process.env['PATH'] ?? '', ...env },
    }),
  )
  atEnd(() => client.close())
  return client
}
/** Calls a tool, and returns the text of its result. */
const called = async (client: Client, name: string, input: Record<string, unknown> = {}): Promise<string> => {
  const { content } = await client.callTool({ name, arguments: input })
  return (content as readonly { readonly text: string }[]).map(({ text }) => text).join('\n')
}

const condensed = async (directory: string): Promise<void> => {
  const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
  const chat = store.conversation('task-42')
  await chat.append([
    { role: 'user', content: 'Set up staging.' },
    { role: 'assistant', content: 'It listens on port 54329.' },
    { role: 'user', content: 'Now the parser.' },
  ])
  await chat.condense({ covers: { first: 0, last: 1 }, summary: 'Staging is set up.' })
  await store.close()
}

describe('palimpsest mcp', () => {
  it('lists, searches, reads and shows conversations of a store, and restores nothing without --write', () =>
    inDirectory(async (directory) => {
      await condensed(directory)
      const client = await start(directory, [])
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toEqual(['list', 'search', 'read', 'show', 'hidden'])
      expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true)
      expect(await called(client, 'list')).toBe('- task-42: Set up staging. (4 events)')
      const conversation = 'task-42'
      expect(await called(client, 'search', { conversation, text: 'port' })).toContain(
        'position 1, assistant, hidden by 3: It listens on port 54329.',
      )
      expect(await called(client, 'read', { conversation, from: 0, to: 1 })).toContain(
        '[1, assistant, hidden from you]\nIt listens on port 54329.',
      )
      expect(await called(client, 'show', { conversation })).not.toContain('54329')
      expect(await called(client, 'show', { conversation, at: 2 })).toContain('54329')
      expect(await called(client, 'hidden', { conversation })).toContain(
        'summary at 3: hides 2 messages, positions 0 to 1',
      )
      // An error is a result that says what to do.
      expect(await called(client, 'read', { conversation: 'task-43', from: 0 })).toContain('task-42')
      await expect(called(client, 'restore', { conversation, marker: 3 })).resolves.toContain('not found')
    }))

  it('restores with --write, in the one conversation that it is for', () =>
    inDirectory(async (directory) => {
      await condensed(directory)
      const client = await start(directory, ['--conversation', 'task-42', '--write'])
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toEqual(['search', 'read', 'show', 'hidden', 'restore'])
      expect(await called(client, 'restore', { marker: 3 })).toContain('visible again')
      expect(await called(client, 'show')).toContain('54329')
    }))

  it('the session of the program that started it is imported before each call', () =>
    inDirectory(async (given) => {
      const directory = realpathSync(given)
      const project = join(directory, '.claude', 'projects', 'ledger')
      mkdirSync(project, { recursive: true })
      const file = join(project, 'one.jsonl')
      copyFileSync(new URL('../../examples/sessions/claude-code.jsonl', import.meta.url), file)
      const client = await start(directory, ['--conversation', 'current'], {
        CLAUDE_CODE_SESSION_ID: 'one',
      })
      expect(await called(client, 'search', { text: 'zebra crossing' })).toContain('Nothing')
      const line = { type: 'user', uuid: 'z', message: { role: 'user', content: 'A zebra crossing.' } }
      appendFileSync(file, `${JSON.stringify({ parentUuid: null, sessionId: 'one', ...line })}\n`)
      expect(await called(client, 'search', { text: 'zebra crossing' })).toContain('A zebra crossing.')
    }))

  it('speaks with the next version of the client, too, and ends with its input', () =>
    inDirectory(async (directory) => {
      await condensed(directory)
      const client = new NextClient({ name: 'test', version: '1' })
      const transport = new NextTransport({
        command: node,
        args: [await program(), 'mcp'],
        cwd: directory,
        env: { HOME: directory, PATH: process.env['PATH'] ?? '' },
      })
      await client.connect(transport)
      const { pid } = transport
      const { content } = await client.callTool({
        name: 'search',
        arguments: { conversation: 'task-42', text: 'port' },
      })
      expect(JSON.stringify(content)).toContain('54329')
      await client.close()
      await expect.poll(() => isRunning(pid ?? 0)).toBe(false)
    }))

  it('ends with the reason when its client sends a message that is too long', () =>
    inDirectory(async (directory) => {
      await condensed(directory)
      const server = spawn(node, [await program(), 'mcp'], { cwd: directory })
      const [code, problem] = [once(server, 'exit'), textFrom(server.stderr)]
      server.stdin.on('error', () => undefined)
      server.stdin.write(`{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(11 * 1024 * 1024)}"}\n`)
      expect(await code).toEqual([1, null])
      expect(await problem).toContain('standard input: has a message of more than 10 MiB')
    }))
})

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
