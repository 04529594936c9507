import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the agent's tools reach: the outside world, which does whatever it is told, as often as it is told. */
export interface Shop {
  readonly url: string
  /** How often each call of `refund` has paid, by its key. */
  readonly refunds: ReadonlyMap<string, number>
  readonly close: () => void
}

export const openShop = async (): Promise<Shop> => {
  const refunds = new Map<string, number>()
  const server = createServer(({ url = '', headers }, answer) => {
    const [, what, order] = url.split('/')
    const key = String(headers['idempotency-key'])
    if (what === 'refunds') refunds.set(key, (refunds.get(key) ?? 0) + 1)
    answer.end(what === 'refunds' ? `Order ${order} is paid back.` : `Order ${order} was delivered broken.`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, refunds, close }
}
