import { generateKeyPairSync, hash, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import * as E from 'fp-ts/lib/Either.js'
import {
  checkConsistency,
  type LedgerCheckpoint,
  keyText,
  parseCheckpoint,
  parseKey,
  parseNote,
  signersOf,
  verifierKey,
} from '../../src/audit.ts'
import { publicBytes } from '../../src/audit/ledger/keys.ts'
import { cosignatureText } from '../../src/audit/ledger/notes.ts'
import { atEnd } from './at-end.ts'
import { right } from './either.ts'

/** A witness as C2SP tlog-witness describes it, for one log, in this process. */
export interface Witness {
  readonly url: string
  /** Its verifier key, as a text. */
  readonly key: string
  /** The sizes that it has signed. */
  readonly sizes: readonly number[]
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly type?: string
}

/** @param logKey the verifier key of the log that it knows */
export const witness = async (logKey: string): Promise<Witness> => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const own = verifierKey('witness.example/w1', publicBytes(privateKey) as Buffer, 'witness')
  const log = right(parseKey(logKey))
  const sizes: number[] = []
  let latest: (LedgerCheckpoint & { readonly note: string }) | undefined

  const cosignature = (body: string): string => {
    const time = 1_800_000_000 + sizes.length
    const seconds = Buffer.alloc(8)
    seconds.writeBigUInt64BE(BigInt(time))
    const signature = sign(null, cosignatureText(body, time), privateKey)
    return `— ${own.name} ${Buffer.concat([Buffer.from(own.id, 'hex'), seconds, signature]).toString('base64')}\n`
  }

  /** The checks, in the order of the specification. */
  const addCheckpoint = (request: string): Answer => {
    const end = request.indexOf('\n\n')
    const [first = '', ...proof] = request.slice(0, end).split('\n')
    const parsed = parseNote(request.slice(end + 2))
    const old = Number(/^old (0|[1-9]\d*)$/.exec(first)?.[1])
    if (E.isLeft(parsed) || Number.isNaN(old) || proof.length > 63) return { status: 400, body: '' }
    const checkpoint = right(parseCheckpoint(parsed.right.text))
    if (checkpoint.origin !== log.name) return { status: 404, body: '' }
    const signers = signersOf(parsed.right, [log])
    if (E.isLeft(signers) || signers.right.length === 0) return { status: 403, body: '' }
    if (old > checkpoint.size) return { status: 400, body: '' }
    if (old !== (latest?.size ?? 0))
      return { status: 409, body: `${latest?.size ?? 0}\n`, type: 'text/x.tlog.size' }
    const hashes = proof.map((line) => Buffer.from(line, 'base64'))
    const before = latest ?? { size: 0, root: Buffer.alloc(0) }
    if (!checkConsistency(before, checkpoint, hashes)) return { status: 422, body: '' }
    const line = cosignature(parsed.right.text)
    latest = { ...checkpoint, note: request.slice(end + 2) + line }
    sizes.push(checkpoint.size)
    return { status: 200, body: line }
  }

  const answerTo = async (request: IncomingMessage): Promise<Answer> => {
    const body = await text(request)
    if (request.method === 'POST' && request.url === '/w/add-checkpoint') return addCheckpoint(body)
    const isServed = request.url === `/w/${hash('sha256', log.name)}/checkpoint` && latest !== undefined
    return isServed ? { status: 200, body: latest?.note ?? '' } : { status: 404, body: '' }
  }

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    void answerTo(request).then(({ status, body, type = 'text/plain' }) =>
      response.writeHead(status, { 'content-type': type, connection: 'close' }).end(body),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => new Promise((resolve) => server.close(resolve)))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/w/`, key: keyText(own), sizes }
}
