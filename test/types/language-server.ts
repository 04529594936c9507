import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compiler } from '../support/tsc.ts'

interface Answer {
  readonly id?: number
  readonly method?: string
  readonly result?: { readonly contents?: { readonly value: string } } | null
}

/** A place in a file, as editors count: lines and characters from 0. */
export interface Place {
  readonly line: number
  readonly character: number
}

/** What an editor shows of a name: how it is declared, and its documentation. Nothing where there is no name. */
export interface Hover {
  readonly shown?: string | undefined
  readonly said: string
}

/** The server that editors ask (LSP): what it shows of places in a file. */
export const hovers = async (
  folder: string,
  file: string,
  places: readonly Place[],
): Promise<readonly Hover[]> => {
  const server = spawn(compiler, ['--lsp', '--stdio'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
    // Where there is Node but no npm, it cannot fetch the types of what a program imports.
    env: { ...process.env, PATH: dirname(process.execPath) },
  })
  const ended = new Promise((done) => server.once('close', done))
  const waiting = new Map<number, (answer: Answer) => void>()
  const send = (message: object): void => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  const ask = (method: string, params: unknown): Promise<Answer> =>
    new Promise((resolve) => {
      const id = waiting.size + 1
      waiting.set(id, resolve)
      send({ id, method, params })
    })
  server.stdout.on(
    'data',
    messages((answer) => {
      // What the server itself asks for, such as settings of the editor, is not there.
      if (answer.method !== undefined && answer.id !== undefined) send({ id: answer.id, result: null })
      else if (answer.id !== undefined) waiting.get(answer.id)?.(answer)
    }),
  )
  const rootUri = pathToFileURL(folder).href
  const uri = pathToFileURL(file).href
  const capabilities = { textDocument: { hover: { contentFormat: ['markdown'] } } }
  await ask('initialize', { processId: process.pid, rootUri, capabilities })
  send({ method: 'initialized', params: {} })
  const text = readFileSync(file, 'utf8')
  send({
    method: 'textDocument/didOpen',
    params: { textDocument: { uri, languageId: 'typescript', version: 1, text } },
  })
  const answers = await Promise.all(
    places.map((position) => ask('textDocument/hover', { textDocument: { uri }, position })),
  )
  server.kill()
  await ended
  return answers.map(({ result }) => {
    const [, shown, said = ''] = /^```\w*\n([\s\S]*?)```([\s\S]*)$/.exec(result?.contents?.value ?? '') ?? []
    return { shown: shown?.trim(), said }
  })
}

/** Takes the messages of LSP out of chunks of bytes. */
const messages = (received: (answer: Answer) => void): ((chunk: Buffer) => void) => {
  let bytes = Buffer.alloc(0)
  return (chunk) => {
    bytes = Buffer.concat([bytes, chunk])
    for (;;) {
      const head = bytes.indexOf('\r\n\r\n')
      const length = Number(
        /Content-Length: (\d+)/i.exec(bytes.subarray(0, Math.max(0, head)).toString())?.[1],
      )
      const end = head + 4 + length
      if (head < 0 || bytes.length < end) return
      received(JSON.parse(bytes.subarray(head + 4, end).toString()) as Answer)
      bytes = bytes.subarray(end)
    }
  }
}
