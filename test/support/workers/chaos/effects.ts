import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An effect that took place, as the world outside counts it. */
export interface Effect {
  readonly chat: string
  readonly call: string
  readonly key: string
  readonly tool: string
  readonly isUnsafe: boolean
}

/** When a tool's process dies: before its effect, after it, or once it has been told of it. */
export type Moment = 'before' | 'after' | 'told'

export interface Effects {
  readonly url: string
  readonly effects: readonly Effect[]
  readonly close: () => void
}

/** Where tools take effect. @param kill decides whether the process that asks dies of it, and does so at that moment */
export const effectsServer = async (
  kill: (pid: number, call: string) => { readonly moment: Moment; readonly now: () => void } | undefined,
): Promise<Effects> => {
  const effects: Effect[] = []
  const server = createServer((message, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of message) chunks.push(chunk as Buffer)
      const { pid, ...effect } = JSON.parse(Buffer.concat(chunks).toString()) as Effect & {
        readonly pid: number
      }
      const death = kill(pid, effect.call)
      if (death?.moment === 'before') return death.now()
      effects.push(effect)
      if (death?.moment === 'after') return death.now()
      response.end('It is done.')
      if (death) response.once('finish', () => setTimeout(death.now, Math.random() * 5))
    })().catch(() => response.destroy())
  })
  // A connection that the server closes while a starved process uses it again would fail the call.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    effects,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
