// node examples/mcp/main.ts: an agent that looks up, through `palimpsest mcp`, a port that its summary lost. It needs no network.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { openStore } from '../../src/index.ts'

const folder = await mkdtemp(join(tmpdir(), 'palimpsest-mcp-'))
const url = `sqlite:${join(folder, 'conversations.db')}`
const store = await openStore(url)
const chat = store.conversation('task-42')
await chat.append([
  { role: 'user', content: 'Set up staging.' },
  { role: 'assistant', content: 'It listens on port 54329.' },
  { role: 'user', content: 'Now the parser.' },
])
await chat.condense({ covers: { first: 0, last: 1 }, summary: 'Staging is set up.' })
await store.close()

const client = new Client({ name: 'example', version: '1.0.0' })
const program = fileURLToPath(new URL('../../bin/palimpsest.js', import.meta.url))
const args = [program, 'mcp', '--store', url, '--conversation', 'task-42']
await client.connect(new StdioClientTransport({ command: process.execPath, args }))
for (const [name, given] of [
  ['show', {}],
  ['search', { text: 'port' }],
] as const) {
  const { content } = await client.callTool({ name, arguments: given })
  process.stdout.write(`${name}:\n`)
  for (const block of content) if (block.type === 'text') process.stdout.write(`${block.text}\n`)
}
await client.close()
await rm(folder, { recursive: true, force: true, maxRetries: 10 })
