import './needed-node.ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import { tryCatch } from 'fp-ts/lib/TaskEither.js'
import { type ResultReader, resultReader as reader } from './agent/turn/results/result-reader.ts'
import { type Conversation, promiseStore, type Store, toPromise } from './api/promises.ts'
import { registerStore as register } from './api/schemes.ts'
import { toError } from './result/typed-error.ts'
import type { ReadError } from './store/errors.ts'
import type { McpClient } from './agent/tools/mcp-client.ts'
import { type McpOptions, mcpTools as mcpToolsOf } from './agent/tools/mcp.ts'
import type { StandardSchema } from './agent/tools/standard-schema.ts'
import { type Tool, tool as toolOf, type ToolOptions } from './agent/tools/tool.ts'
import type { StoreAdapter } from './store/port.ts'
import { registerFormat as registerOwnFormat, type SessionFormat } from './transfer/formats/registry.ts'
import type { OpenEventStore, Scheme } from './store/schemes.ts'
import { type CopyConversations, copyConversations as copy } from './api/copy-conversations.ts'
import type { CopyResult } from './transfer/copy.ts'
import { openStore as openTask, type StoreOptions } from './api/open.ts'

/**
 * Opens a store by its URL: `memory:`, `sqlite:path/to/file.db` (created if missing), `esdb://host:2113` (docs/eventstoredb.md), or a
 * URL of a registered scheme (`registerStore`). SQLite parameters: `?synchronous=full|normal|off` (default full: an append that
 * returned survives a power cut), `&timeout=5000` (maximum wait for another process's lock, in milliseconds). With `?seal=`, content
 * is encrypted (docs/sealing.md).
 *
 * An open `StoreAdapter` may be given in place of a URL; closing the returned store closes it.
 *
 * Rejects with `InvalidInput`, `UnknownScheme` or a `StoreError`; every error has a `_tag`, a message that suggests what to do, and
 * data.
 *
 * @example
 * const store = await openStore('sqlite:conversations.db')
 * await store.conversation('task-42').append({ role: 'user', content: 'Why does the parser fail?' })
 * await store.close()
 */
export const openStore = async (source: string | StoreAdapter, options?: StoreOptions): Promise<Store> =>
  promiseStore(await toPromise(openTask(source, options)))

/**
 * Registers a user-defined URL scheme, so that `openStore`, `copyConversations` and the command line (`--load`) can open its URLs.
 * The scheme applies to the whole process, including every loaded copy of the library. Registering the same functions again changes
 * nothing. docs/a-store-of-your-own.md.
 *
 * Throws `SchemeTaken`, or `InvalidInput` if the name of the scheme is invalid (two or more of a–z 0–9 + . -, a letter first).
 *
 * @param diagnose function that `palimpsest doctor` runs; by default, doctor opens the store and checks its `integrity`
 *
 * @example
 * import * as TE from 'fp-ts/lib/TaskEither.js'
 * import { memoryStore } from 'palimpsest/testing'
 *
 * registerStore('ram', () => TE.right(memoryStore()))
 * const scratch = await openStore('ram:')
 */
export const registerStore = (scheme: string, open: OpenEventStore, diagnose?: Scheme['diagnose']): void => {
  const done = register(scheme, open, diagnose)
  if (isLeft(done)) throw toError(done.left)
}

/**
 * Copies conversations between two stores of any kind, byte for byte and at the same positions, and verifies the copies. Also copies
 * the parents of forks. Copying again adds only new events, so an interrupted copy can be completed by running it again. `ids` selects
 * the conversations (default: all); `progress` is called after each append with the number of events copied and their total.
 *
 * Resolves to the outcome of each conversation, failures included: check `error` (`CopyDiverged` means that the target has a different
 * conversation under the same id). Rejects if a store cannot be opened or the source cannot be read.
 *
 * @example
 * const copied = await copyConversations({ from: 'sqlite:laptop.db', to: 'esdb://db.example.org:2113', ids: ['task-42'] })
 * for (const { id, events, added, error } of copied) console.log(id, events, added, error?.message ?? 'verified')
 */
export const copyConversations = (options: CopyConversations): Promise<readonly CopyResult[]> =>
  toPromise(copy(options))

/**
 * Registers a user-defined session format for the whole process. `importSession` can then read it; so can `import` and `export --format
 * NAME` on the command line, given `--load FILE`. Registering the same object again changes nothing. docs/import.md.
 *
 * Throws `FormatTaken`, or `InvalidInput` whose path names what is missing.
 */
export const registerFormat = (format: SessionFormat): void => {
  const done = registerOwnFormat(format)
  if (isLeft(done)) throw toError(done.left)
}

export type * from './types.ts'
export type { Conversation, Store, Worker } from './api/promises.ts'
export { isError } from './api/errors.ts'
export { unknownBlock } from './events/blocks.ts'

/**
 * Returns a tool for `turn` that reads the content that `maxResult` left out of a conversation's tool results, even if the results have
 * been hidden since. The same limit applies to the tool's own results.
 *
 * @example
 * import Anthropic from '@anthropic-ai/sdk'
 *
 * await chat.turn({ client: new Anthropic(), model: 'claude-opus-5-5', tools: [resultReader(chat)] })
 */
export const resultReader = ({ events, position }: Conversation): ResultReader =>
  reader({ events, position: () => tryCatch(position, (error) => error as ReadError) })

/**
 * Returns a tool for `turn`, defined by a schema of zod or of another library that follows https://standardschema.dev. The model
 * receives the JSON schema of the tool's input (if the library generates none, pass it as `inputSchema`). Each input is checked before
 * `run` is called; if it is invalid, the model receives the reason. docs/tools.md.
 *
 * Throws `InvalidInput`, whose path names what is missing.
 *
 * @example
 * import { z } from 'zod'
 *
 * const weather = tool({
 *   name: 'weather',
 *   description: 'Gets the weather in a city.',
 *   input: z.object({ city: z.string() }),
 *   run: async ({ city }) => `It is sunny in ${city}.`,
 * })
 * await chat.turn({ client, model: 'claude-opus-5-5', tools: [weather] })
 */
export const tool = <S extends StandardSchema>(options: ToolOptions<S>): Tool => {
  const made = toolOf(options)
  if (isLeft(made)) throw toError(made.left)
  return made.right
}

/**
 * Returns the tools that an MCP server lists now, for use in `turn`. They are called through a connected client of
 * `@modelcontextprotocol/sdk` (or `/client`). Tools that the server marks as destructive need approval. docs/tools.md.
 *
 * Rejects with `McpFailed` if the tools cannot be listed, `ToolNameTaken` if two tools would have the same name, or `InvalidInput`.
 *
 * @example
 * import { Client } from '@modelcontextprotocol/sdk/client/index.js'
 * import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
 *
 * const files = new Client({ name: 'my-agent', version: '1.0.0' })
 * await files.connect(new StdioClientTransport({ command: 'node', args: ['files-server.js'] }))
 * await chat.turn({ client, model: 'claude-opus-5-5', tools: await mcpTools(files, { prefix: 'files_' }) })
 * await files.close()
 */
export const mcpTools = (client: McpClient, options?: McpOptions): Promise<readonly Tool[]> =>
  toPromise(mcpToolsOf(client, options))

export { historyTools } from './agent/turn/results/history-tools.ts'
export { gitWorkspace } from './api/git-workspace.ts'
export { summarizer } from './agent/context/summary/summarizer.ts'
export { messagesOf, sliceOf } from './projections/effective.ts'
export { anthropicModel } from './agent/models/anthropic/model.ts'
export { openAiModel } from './agent/models/openai/model.ts'
export { prices, pricesAsOf } from './agent/models/prices.ts'
