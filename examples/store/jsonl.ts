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
  readonly put?: { readonly sha256: string; readonly base64: string }
  readonly removed?: string
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
      for (const { append, put, removed } of lines) {
        if (append) await memory.append(append)()
        if (put) await memory.blobs.put(put.sha256, [Buffer.from(put.base64, 'base64')])()
        if (removed !== undefined) await memory.blobs.remove(removed, new Date(8.64e15))()
      }

      // On disk when it is done; nothing stays open in between.
      const write = (line: Line): Promise<void> =>
        appendFile(path, `${JSON.stringify(line)}\n`, { flush: true })
      if (lines.length === 0) await write({ mark })
      let written = Promise.resolve()
      /** The memory's answer, once everything up to it is on disk. What cannot be written must not be read: the store closes. */
      const saved = async <Err, A>(
        answer: E.Either<Err, A>,
        line?: Line,
      ): Promise<E.Either<Err | StoreError, A>> => {
        try {
          if (line && E.isRight(answer)) written = written.then(() => write(line))
          await written
          return answer
        } catch (cause) {
          await memory.close()()
          return failed('StoreUnavailable', 'the file cannot be written: check the disk', cause)
        }
      }
      return E.right({
        ...memory,
        append: (request) => async () => {
          const { stream, events, expected } = structuredClone(request)
          const answer = await memory.append(request)()
          const isNew = E.isRight(answer) && answer.right === 'written'
          return saved(answer, isNew ? { append: { stream, events, expected } } : undefined)
        },
        blobs: {
          ...memory.blobs,
          put: (sha256, chunks) => async () => {
            const base64 = Buffer.concat([...chunks]).toString('base64')
            return saved(await memory.blobs.put(sha256, chunks)(), { put: { sha256, base64 } })
          },
          remove: (sha256, before) => async () => {
            const answer = await memory.blobs.remove(sha256, before)()
            if (E.isLeft(answer)) return answer
            const { done } = await memory.blobs.get(sha256)[Symbol.asyncIterator]().next()
            return saved(answer, done === true ? { removed: sha256 } : undefined)
          },
        },
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
