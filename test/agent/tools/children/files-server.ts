// An MCP server over stdio, for a test and for the examples of the docs, which run it as JavaScript.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { z } from 'zod'

const server = new McpServer({ name: 'files', version: '1.0.0' })
const inputSchema = { path: z.string() }

server.registerTool(
  'read',
  { description: 'Reads a file.', inputSchema, annotations: { readOnlyHint: true } },
  async ({ path }) => ({ content: [{ type: 'text', text: await readFile(path, 'utf8') }] }),
)
server.registerTool(
  'delete',
  { description: 'Deletes a file.', inputSchema, annotations: { destructiveHint: true } },
  async ({ path }) => {
    await rm(path)
    return { content: [{ type: 'text', text: 'Deleted.' }] }
  },
)
server.registerTool(
  'wait',
  { description: 'Waits until it is cancelled, and writes a file then.', inputSchema },
  async ({ path }, { signal, sendNotification, _meta }) => {
    const params = { progressToken: _meta?.progressToken ?? '', progress: 1, message: 'Waiting.' }
    await sendNotification({ method: 'notifications/progress', params })
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    await writeFile(path, 'Cancelled.')
    return { content: [] }
  },
)
await server.connect(new StdioServerTransport())
