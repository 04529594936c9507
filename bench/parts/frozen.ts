import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { openStore } from '../../src/index.ts'
import { atMost, duration, type PartResult } from '../report.ts'
import { timed } from '../rounds.ts'

/** A node whose process is frozen: the system takes connections for it, and nobody answers. */
const frozenNode = async (): Promise<{ readonly node: string; readonly thaw: () => void }> => {
  const sockets: Socket[] = []
  const listener = createServer((socket) => void sockets.push(socket))
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const thaw = (): void => {
    for (const socket of sockets) socket.destroy()
    listener.close()
  }
  return { node: `127.0.0.1:${(listener.address() as AddressInfo).port}`, thaw }
}

/** A cluster of which one node takes connections and never answers: the slowest of some opens, each with a read. */
export const frozenPart = async (url: string, id: string, isQuick: boolean): Promise<PartResult> => {
  const { node, thaw } = await frozenNode()
  const cluster = url.replace(/\/?(?=\?|$)/, `,${node}`)
  const opens = isQuick ? 5 : 20
  let slowest = 0
  for (let n = 0; n < opens; n++) {
    const time = await timed(async () => {
      const store = await openStore(cluster)
      await store.conversation(id).effective()
      await store.close()
    })
    slowest = Math.max(slowest, time)
  }
  thaw()
  return {
    title: 'Open: a cluster with a frozen node',
    figures: [atMost(`open and read, the slowest of ${opens}`, slowest, 2_000, duration)],
    notes: [
      'Which node is asked first is drawn anew each time. Where the leader freezes, the cluster elects another first.',
    ],
  }
}
