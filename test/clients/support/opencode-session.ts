import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { atEnd } from '../../support/at-end.ts'
import { cleanEnvironment, type ClientHome, runClient } from './run-client.ts'

type Fields = Readonly<Record<string, unknown>>

/** A running server of opencode. */
export interface OpencodeServer {
  /** Begins a session; returns its id. */
  readonly begin: () => Promise<string>
  /** Sends a prompt, and waits until the agent has nothing left to do; returns the id of the prompt. */
  readonly say: (session: string, text: string) => Promise<string>
  /** Copies a session up to before a prompt; returns the id of the copy. */
  readonly fork: (session: string, prompt: string) => Promise<string>
  /** Goes back to before a prompt. */
  readonly revert: (session: string, prompt: string) => Promise<void>
  readonly compact: (session: string) => Promise<void>
  /** Returns a session as `opencode export` writes it. */
  readonly exported: (session: string) => Promise<string>
}

const environment = { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }

/** Starts `opencode serve` until the end of the test, with a Messages API at `url`. */
export const startOpencode = async (
  command: string,
  home: ClientHome,
  url: string,
  model: string,
): Promise<OpencodeServer> => {
  const name = `anthropic/${model}`
  const limits = { name: model, limit: { context: 1_000_000, output: 32_000 }, tool_call: true }
  const config = {
    autoupdate: false,
    share: 'disabled',
    model: name,
    small_model: name,
    provider: {
      anthropic: {
        options: { baseURL: `${url}/v1`, apiKey: 'sk-ant-dummy' },
        models: { [model]: limits },
      },
    },
  }
  writeFileSync(join(home.project, 'opencode.json'), JSON.stringify(config))
  const child = spawn(command, ['serve', '--port', '0'], {
    cwd: home.project,
    env: { ...cleanEnvironment(home.home), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  atEnd(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const at = await new Promise<string>((resolve, reject) => {
    let said = ''
    const hear = (text: string): void => {
      said += text
      const [, address] = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(said) ?? []
      if (address !== undefined) resolve(address)
    }
    child.stdout.setEncoding('utf8').on('data', hear)
    child.stderr.setEncoding('utf8').on('data', hear)
    child.once('exit', () => reject(new Error(`opencode ended: ${said}`)))
  })

  const post = async (path: string, body: Fields): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(at + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    if (!response.ok) throw new Error(`opencode answered ${path} with ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  const names = { providerID: 'anthropic', modelID: model }
  return {
    begin: async () => ((await post('/session', {})) as { readonly id: string }).id,
    say: async (session, text) => {
      const parts = [{ type: 'text', text }]
      const reply = await post(`/session/${session}/message`, { model: names, parts })
      return (reply as { readonly info: { readonly parentID: string } }).info.parentID
    },
    fork: async (session, messageID) =>
      ((await post(`/session/${session}/fork`, { messageID })) as { readonly id: string }).id,
    revert: async (session, messageID) => void (await post(`/session/${session}/revert`, { messageID })),
    compact: async (session) => void (await post(`/session/${session}/summarize`, names)),
    exported: async (session) => {
      const { code, out, err } = await runClient(command, ['export', session], home, environment)
      if (code !== 0) throw new Error(`opencode did not export ${session}: ${err}`)
      return out
    },
  }
}
