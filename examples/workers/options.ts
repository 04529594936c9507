import { parseArgs } from 'node:util'

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

/** @returns what to print and not to run: usage, or what is wrong with the arguments */
export const optionsOf = (
  args: readonly string[],
): Options | { readonly print: string; readonly isWrong: boolean } => {
  try {
    const string = { type: 'string' } as const
    const { values } = parseArgs({
      args: [...args],
      options: {
        seconds: string,
        processes: string,
        conversations: string,
        store: string,
        help: { type: 'boolean' },
      },
    })
    if (values.help) return { print: usage, isWrong: false }
    if (values.store === 'memory:')
      throw new Error('--store memory: is of one process only: name a file or a server')
    return {
      seconds: numberOf('seconds', values.seconds ?? '30', 1),
      processes: numberOf('processes', values.processes ?? '4', 2),
      conversations: numberOf('conversations', values.conversations ?? '100', 1),
      store: values.store,
    }
  } catch (error) {
    return { print: `${(error as Error).message}\n\n${usage}`, isWrong: true }
  }
}

const numberOf = (name: string, text: string, least: number): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < least)
    throw new Error(`--${name} is a whole number, ${least} or more, not ${text}`)
  return value
}
