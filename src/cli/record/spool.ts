import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { placeOf } from '../../catalogue/place.ts'
import type { ModelExchange } from '../../recorder/exchange.ts'
import { textIn, textWithoutAccounts } from '../../recorder/read-request.ts'
import { splitSeal } from '../../store/seal/seal-parameter.ts'
import { type Host, indexFolder } from '../host.ts'

// Calls wait in files while they wait to be recorded, so that they survive the process: the next recorder records them first. Each
// process has a folder of its own, named by the machine and the process, with one file a call.

/** A call of a process that ended before the call was recorded. */
export interface SpooledCall {
  readonly exchange: ModelExchange
  readonly remove: () => void
}

export interface CallSpool {
  /**
   * Keeps a call in a file, and returns its path. Undefined if it cannot be kept: the disk is full, or the ids of accounts, which are
   * never written, cannot be taken out of its body.
   */
  readonly keep: (exchange: ModelExchange) => string | undefined
  /** Yields the calls of processes of this machine that ended before, oldest first. */
  readonly left: () => Generator<SpooledCall, void>
  readonly close: () => void
}

/**
 * Returns the folder of the calls that wait to be recorded in a store; undefined if none wait in files: in memory, and beside a sealed
 * store, because they would be readable there.
 */
export const spoolFolder = (host: Host, url: string): string | undefined => {
  const split = splitSeal(url)
  if (isLeft(split) || split.right.keys !== undefined) return undefined
  return placeOf(url.replace(/\?.*$/, ''), indexFolder(host, url))?.replace(/-index$/, '-spool')
}

/** Returns the number of calls that wait although their process, on this machine, has ended. */
export const callsLeft = (folder: string): number =>
  abandoned(folder).reduce((sum, name) => sum + callsIn(join(folder, name)).length, 0)

export const openSpool = (folder: string): CallSpool => {
  const own = join(folder, nameOf(process.pid))
  let count = 0
  return {
    keep: (exchange) => {
      try {
        const bytes = bytesOf(exchange)
        if (!bytes) return undefined
        if (count === 0) mkdirSync(own, { recursive: true, mode: 0o700 })
        const file = join(own, `${Date.now()}-${String(count++).padStart(6, '0')}.call`)
        writeFileSync(`${file}.tmp`, bytes, { mode: 0o600 })
        renameSync(`${file}.tmp`, file)
        return file
      } catch {
        return undefined
      }
    },
    left: function* () {
      for (const name of abandoned(folder)) {
        const those = join(folder, name)
        for (const file of callsIn(those)) {
          const path = join(those, file)
          const exchange = readCall(path)
          if (exchange) yield { exchange, remove: () => removeCall(path) }
        }
        if (namesIn(those).length === 0) rmSync(those, { recursive: true, force: true })
      }
    },
    close: () => {
      if (callsIn(own).length > 0) return
      rmSync(own, { recursive: true, force: true })
      if (namesIn(folder).length === 0) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Reads a call. A file that cannot be read was damaged after it had been written: it is kept, but not in the way. */
export const readCall = (file: string): ModelExchange | undefined => {
  const exchange = exchangeIn(readFileSync(file))
  if (!exchange) renameSync(file, `${file}.damaged`)
  return exchange
}

export const removeCall = (file: string): void => rmSync(file, { force: true })

const nameOf = (pid: number): string => `${hostname().replaceAll(/[^\w.]/g, '_')}-${pid}`

const namesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

const callsIn = (folder: string): readonly string[] =>
  namesIn(folder)
    .filter((name) => name.endsWith('.call'))
    .toSorted()

/** Returns the folders whose processes do not run anymore. Those of other machines may still run. */
const abandoned = (folder: string): readonly string[] =>
  namesIn(folder).filter((name) => {
    const pid = Number(name.slice(name.lastIndexOf('-') + 1))
    return name === nameOf(pid) && pid !== process.pid && !isRunning(pid)
  })

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return Reflect.get(Object(error), 'code') === 'EPERM'
  }
}

type Head = Omit<ModelExchange, 'body' | 'begun' | 'ended' | 'reply'> & {
  readonly begun: string
  readonly ended: string
  readonly reply: Omit<ModelExchange['reply'], 'body'>
  /** Number of bytes of the request's body; those of the reply follow. */
  readonly length: number
}

/** Returns a call as a line of JSON, followed by the bytes of its bodies; undefined if it names an account that cannot be left out. */
const bytesOf = ({ body, begun, ended, reply, ...rest }: ModelExchange): Uint8Array | undefined => {
  const { 'content-encoding': encoding, ...headers } = rest.headers
  const text = textWithoutAccounts(textIn(body, encoding))
  if (text === undefined) return undefined
  const sent = Buffer.from(text)
  const { body: got, ...answer } = reply
  const head = { ...rest, headers, begun, ended, reply: answer, length: sent.length }
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), sent, got])
}

const exchangeIn = (bytes: Buffer): ModelExchange | undefined => {
  try {
    const end = bytes.indexOf('\n')
    const { length, begun, ended, reply, ...rest } = JSON.parse(bytes.toString('utf8', 0, end)) as Head
    const [body, got] = [bytes.subarray(end + 1, end + 1 + length), bytes.subarray(end + 1 + length)]
    return { ...rest, begun: new Date(begun), ended: new Date(ended), body, reply: { ...reply, body: got } }
  } catch {
    return undefined
  }
}
