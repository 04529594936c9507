import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A network between a process and a server. */
export interface Proxy {
  readonly port: number
  /** Milliseconds that everything takes from now on, each way. */
  readonly delay: (ms: number) => void
  /** Breaks every connection, and refuses new ones until it heals. */
  readonly cut: () => void
  /** Nothing arrives any more, and nobody is told. */
  readonly freeze: () => void
  /** What the server says from now on is lost; it hears everything. */
  readonly deafen: () => void
  /** Connections that lost something are broken; new ones work. */
  readonly heal: () => void
  readonly close: () => void
}

export const proxy = async (target: number): Promise<Proxy> => {
  const pairs = new Set<readonly [Socket, Socket]>()
  let state: 'well' | 'cut' | 'frozen' | 'deaf' = 'well'
  let slow = 0

  const drop = (): void => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  }
  const pipe = (from: Socket, to: Socket, isAnswer: boolean): void => {
    from.on('data', (chunk) => {
      const isLost = (): boolean => state === 'frozen' || (state === 'deaf' && isAnswer)
      const pass = (): void => void (isLost() || to.destroyed || to.write(chunk))
      if (slow > 0) setTimeout(pass, slow)
      else pass()
    })
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroy())
  }
  const listener = createServer({ noDelay: true }, (near) => {
    if (state === 'cut') return void near.destroy()
    const far = connect({ port: target, host: '127.0.0.1', noDelay: true })
    const pair = [near, far] as const
    pairs.add(pair)
    near.once('close', () => pairs.delete(pair))
    pipe(near, far, false)
    pipe(far, near, true)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const become = (next: typeof state) => (): void => {
    state = next
  }
  return {
    port: (listener.address() as AddressInfo).port,
    delay: (ms) => {
      slow = ms
    },
    cut: () => {
      state = 'cut'
      drop()
    },
    freeze: become('frozen'),
    deafen: become('deaf'),
    heal: () => {
      const hasLost = state !== 'well'
      state = 'well'
      slow = 0
      if (hasLost) drop()
    },
    close: () => {
      drop()
      listener.close()
    },
  }
}
