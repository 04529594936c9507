import { type Asked, askedOf, numberOf } from '../demo/demo.ts'

export interface Options {
  readonly seconds: number
  readonly processes: number
  readonly conversations: number
  readonly store: string | undefined
}

const usage = `npm run demo:workers [-- OPTIONS]

People talk to an agent in many conversations at once. \`palimpsest work\` answers
them in several processes, while somebody kills one of these every few seconds.
Now and then a person takes back what they have just said. At the end the log is
read to see whether each message was answered once. The model is a strict
stand-in for the API in this process, which costs nothing.

  --seconds N        for how long people talk (30)
  --processes N      how many processes answer, 2 or more (4)
  --conversations N  how many conversations there are (100)
  --store URL        where they are: a server, such as esdb://127.0.0.1:2113?tls=false
                     (a SQLite file in a new directory)
  --help             print this

Ctrl-C: what was asked is still answered, then the demo ends. Once more: it ends
at once.
`

const names = ['seconds', 'processes', 'conversations', 'store'] as const

export const optionsOf = (args: readonly string[]): Asked<Options> =>
  askedOf(args, usage, names, ({ seconds, processes, conversations, store }) => {
    if (store === 'memory:')
      throw new Error('--store memory: is of one process only: name a file or a server')
    return {
      seconds: numberOf('seconds', seconds ?? '30', 1),
      processes: numberOf('processes', processes ?? '4', 2),
      conversations: numberOf('conversations', conversations ?? '100', 1),
      store,
    }
  })
