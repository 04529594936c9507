import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { appendFile, readFile, truncate } from 'node:fs/promises'
import * as E from 'fp-ts/lib/Either.js'
import { type AppendRequest, type OpenEventStore, registerStore, type StoreError } from 'palimpsest'
import { memoryStore } from 'palimpsest/testing'

/** A line of the file. The first one has the mark, which tells this store's checkpoints from those of others. */
interface Line {
  readonly mark?: string
  readonly append?: Pick<AppendRequest, 'stream' | 'events' | 'expected'>
}

/** Opens `jsonl:PATH`. All of the file is in memory too, and one process at a time may have it open. */
export const openJsonl: OpenEventStore =
  (url, { create }) =>
  async () => {
    const path = url.slice('jsonl:'.length)
    const failed = (_tag: 'StoreNotFound' | 'StoreUnavailable', message: string, cause?: unknown) =>
      E.left<StoreError>({ _tag, message: `${url}: ${message}`, store: url, cause })
    if (!create && !existsSync(path)) return failed('StoreNotFound', 'there is no such file')
    try {
      const lines = existsSync(path) ? await wholeLines(path) : []
      const mark = lines[0]?.mark ?? randomUUID()
      const memory = memoryStore(url, mark)
      for (const { append } of lines) if (append) await memory.append(append)()

      // On disk when it is done; nothing stays open in between.
      const write = (line: Line): Promise<void> =>
        appendFile(path, `${JSON.stringify(line)}\n`, { flush: true })
      if (lines.length === 0) await write({ mark })
      let written = Promise.resolve()
      return E.right({
        url,
        append: (request) => async () => {
          const { stream, events, expected } = structuredClone(request)
          const answer = await memory.append(request)()
          try {
            const isNew = E.isRight(answer) && answer.right === 'written'
            if (isNew) written = written.then(() => write({ append: { stream, events, expected } }))
            await written
            return answer
          } catch (cause) {
            // What cannot be written must not be read.
            await memory.close()()
            return failed('StoreUnavailable', 'the file cannot be written: check the disk', cause)
          }
        },
        read: memory.read,
        readAll: memory.readAll,
        follow: memory.follow,
        close: () => async () => {
          await written.catch(() => undefined)
          return memory.close()()
        },
      })
    } catch (cause) {
      return failed('StoreUnavailable', 'it cannot be opened: check the path', cause)
    }
  }

/** The lines of the file. One that broke off goes: its writer was killed before it had an answer. */
const wholeLines = async (path: string): Promise<readonly Line[]> => {
  const text = await readFile(path, 'utf8')
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  if (whole !== text) await truncate(path, Buffer.byteLength(whole))
  return whole.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]))
}

registerStore('jsonl', openJsonl)
