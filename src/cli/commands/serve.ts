import { once } from 'node:events'
import type { Command } from 'commander'
import { port } from '../options.ts'
import type { Shell } from '../shell.ts'
import { signalled } from '../work/signalled.ts'

interface Options {
  readonly port: number
  readonly host: string
  readonly allowHost?: readonly string[]
  readonly readOnly?: true
  readonly tokenFile?: string
}

export const addServe = (program: Command, shell: Shell): void => {
  program
    .command('serve')
    .description('serve the store over HTTP: a page to look at, and an API')
    .option('--port <n>', 'the port to listen on; 0: any that is free', port, 4141)
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--allow-host <names...>', 'more names that the server may be called by')
    .option('--read-only', 'refuse everything that writes')
    .option('--token-file <file>', 'whoever calls needs a token of this file')
    .addHelpText(
      'after',
      `
Listens on this machine only, where everybody may do everything, unless a token
file is given: \`palimpsest token create\` makes it. Other addresses need one.
The access log, a line of JSON for each request, goes to the standard error.
SIGTERM or SIGINT: what has begun is answered, then the server ends.

Examples:
  palimpsest serve                 # then open http://127.0.0.1:4141
  curl http://127.0.0.1:4141/api/v1/conversations
  palimpsest serve --host 0.0.0.0 --token-file tokens.json`,
    )
    .action(
      shell.action('created', async ({ store, out, isJson, host: { stderr } }, options: Options) => {
        const { serve } = await import('../../server/serve.ts')
        const stops = signalled()
        const { port: wanted, host, allowHost: names, readOnly: isReadOnly, tokenFile } = options
        try {
          const server = await serve({ store, port: wanted, host, names, isReadOnly, tokenFile, log: stderr })
          const { url } = server
          if (isJson) await out.json({ url }, false)
          else await out.line([`${store.url} is served on ${url} (the API: ${url}/api/v1)`])
          if (!stops.drain.signal.aborted) await once(stops.drain.signal, 'abort')
          await server.close()
        } finally {
          stops.forget()
        }
      }),
    )
}
