import { join } from 'node:path'
import { openStore } from '../../src/index.ts'
import { httpClient } from '../http-client.ts'
import { messageAt } from '../messages.ts'
import { atLeast, duration, type PartResult } from '../report.ts'
import { alternate, type Contender, ratioOf, timed, timeOf } from '../rounds.ts'
import { serving, servingBare, type ServingProcess } from '../serving.ts'

const clients = 64
/** Of each client in a round. */
const each = 4

/** Rounds before those that count: V8 compiles what a server runs only after some thousands of requests. */
const warmUp = 40

interface Writer extends Contender {
  readonly close: () => Promise<void>
}

/** Durable appends over HTTP by many clients at once, beside as many of the library. Each says what it was decided on. */
export const httpAppend = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const library = await byLibrary(`sqlite:${join(folder, 'library.db')}`)
  const http = await overHttp('http', await serving(`sqlite:${join(folder, 'http.db')}`))
  const bare = await overHttp('bare', await servingBare(`sqlite:${join(folder, 'bare.db')}`))
  const rounds = isQuick ? 30 : 150
  await alternate([library, http, bare], warmUp)
  const times = await alternate([library, http, bare], rounds)
  for (const { close } of [library, http, bare]) await close()
  return {
    title: `Append over HTTP: ${clients} clients, 1 KB messages, durable`,
    figures: [
      {
        what: `the library, ${clients} conversations at once`,
        figure: duration(timeOf(times, library.name)),
      },
      { what: `over HTTP, ${clients} clients`, figure: duration(timeOf(times, http.name)) },
      {
        what: '`node:http` and the same append, nothing checked',
        figure: duration(timeOf(times, bare.name)),
      },
      {
        what: 'its speed beside the library',
        figure: `${ratioOf(times, library.name, bare.name).toFixed(2)} ×`,
      },
      atLeast('speed beside the library', ratioOf(times, library.name, http.name), 0.5),
    ],
    notes: [
      `Each client has a connection and a conversation of its own, and appends one message after the other, ${each} a round, ${rounds} rounds after ${warmUp} to warm up; all clients are in one process, the server is in another. The faster the disk, the smaller the ratio. They share the machine's cores: a client checks the status of an answer and reads it whole, but makes no objects of it. Times are of one append.`,
    ],
  }
}

/** Appends by all at once, each after its own last one. */
const writing = (
  name: string,
  append: (client: number, index: number, after: number) => Promise<number>,
  close: Writer['close'],
): Writer => {
  const ends = Array.from({ length: clients }, () => -1)
  const appendAll = async (client: number): Promise<void> => {
    for (let index = 0; index < each; index++) ends[client] = await append(client, index, ends[client] ?? -1)
  }
  const round = async (): Promise<number> => {
    const spent = await timed(() => Promise.all(ends.map((_, client) => appendAll(client))))
    return spent / (clients * each)
  }
  return { name, round, close }
}

const byLibrary = async (url: string): Promise<Writer> => {
  const store = await openStore(url)
  const chats = Array.from({ length: clients }, (_, client) => store.conversation(`bench-${client}`))
  const append = async (client: number, index: number, after: number): Promise<number> => {
    const written = await chats[client]?.append(messageAt(index), { after })
    return written?.position ?? -1
  }
  return writing('library', append, store.close)
}

const overHttp = async (name: string, server: ServingProcess): Promise<Writer> => {
  const connections = await Promise.all(Array.from({ length: clients }, () => httpClient(server.api)))
  const append = async (client: number, index: number, after: number): Promise<number> => {
    const command = JSON.stringify({ type: 'append', messages: [messageAt(index)], after })
    const path = `/api/v1/conversations/bench-${client}/commands`
    await connections[client]?.post(path, command)
    // It would have been refused after any other.
    return after + 1
  }
  return writing(name, append, async () => {
    for (const { close } of connections) close()
    await server.close()
  })
}
