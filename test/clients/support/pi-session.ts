import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { atEnd } from '../../support/at-end.ts'
import { cleanEnvironment, type ClientHome } from './run-client.ts'

type Fields = Readonly<Record<string, unknown>>

/** A running pi, driven by its commands: one JSON object a line, both ways. */
export interface PiSession {
  /** Sends a command; returns the data of its response. */
  readonly ask: (command: Fields) => Promise<Fields>
  /** Sends a prompt, and waits until the agent has nothing left to do. */
  readonly say: (message: string) => Promise<void>
}

/** Starts pi until the end of the test, with a Messages API at `url`. */
export const startPi = (
  command: string,
  { home, project }: ClientHome,
  url: string,
  model: string,
): PiSession => {
  const agent = join(home, '.pi', 'agent')
  mkdirSync(agent, { recursive: true })
  writeFileSync(join(agent, 'models.json'), JSON.stringify({ providers: { anthropic: { baseUrl: url } } }))
  // So that even a short session has something to summarize.
  writeFileSync(join(agent, 'settings.json'), JSON.stringify({ compaction: { keepRecentTokens: 20 } }))
  const child = spawn(command, ['--provider', 'anthropic', '--model', model, '--mode', 'rpc'], {
    cwd: project,
    env: { ...cleanEnvironment(home), ANTHROPIC_API_KEY: 'sk-ant-dummy', PI_OFFLINE: '1', PI_TELEMETRY: '0' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  atEnd(async () => {
    child.kill('SIGKILL')
    await exited
  })

  let [rest, err] = ['', '']
  const waiting = new Set<(record: Fields | undefined) => void>()
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (err += text))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) for (const hear of waiting) hear(JSON.parse(line) as Fields)
  })
  child.once('exit', () => {
    for (const hear of waiting) hear(undefined)
  })

  const next = (is: (record: Fields) => boolean): Promise<Fields> =>
    new Promise((resolve, reject) => {
      const hear = (record: Fields | undefined): void => {
        if (record && !is(record)) return
        waiting.delete(hear)
        if (record) resolve(record)
        else reject(new Error(`pi ended: ${err}`))
      }
      waiting.add(hear)
    })
  let asked = 0
  const ask: PiSession['ask'] = async (given) => {
    const id = `ask-${asked++}`
    const response = next((record) => record['type'] === 'response' && record['id'] === id)
    child.stdin.write(`${JSON.stringify({ ...given, id })}\n`)
    const { success, data = {}, error } = await response
    if (success !== true) throw new Error(`pi refused ${JSON.stringify(given)}: ${String(error)}`)
    return data as Fields
  }
  return {
    ask,
    say: async (message) => {
      const settled = next(({ type }) => type === 'agent_settled')
      await ask({ type: 'prompt', message })
      await settled
    },
  }
}
