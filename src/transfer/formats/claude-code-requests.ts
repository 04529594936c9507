import { acceptsData } from '../../events/accept.ts'
import { checkJson } from '../../events/check.ts'
import { type Configuration, dataSchemas } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import type { Shelf } from './shelf.ts'
import { type ImportNotes, stringOf } from './source.ts'
import * as E from 'fp-ts/lib/Either.js'

// Requests that newer versions record in the session file: `api-request-shape` has a system prompt and tools, `api-request` the hashes
// of a request's messages and its parameters, and `api-request-blob` each message that no entry tells.

/** A request to the model, as far as the file records it. */
export interface FileRequest {
  readonly id: string
  /** Hashes of the messages, in order. A hash is the SHA-256 of the message's canonical JSON without cache breakpoints. */
  readonly hashes: readonly string[]
  /** Key of the configuration: equal for equal configurations. */
  readonly shape: string
  readonly betas: readonly string[]
  readonly cache: readonly {
    readonly path: readonly (string | number)[]
    readonly value: Readonly<Record<string, string>>
  }[]
}

/** The requests in a file. */
export interface FileRequests {
  /** Reads an entry; returns false if it records no part of a request. */
  readonly read: (fields: Fields) => boolean
  readonly at: (id: unknown) => FileRequest | undefined
  /** Returns the system prompt, tools, model and parameters of a request; undefined if the file does not have them. */
  readonly configurationOf: (request: FileRequest) => Configuration | undefined
  /** Returns the message with this hash, if the file records it by itself. */
  readonly messageWith: (hash: string) => Fields | undefined
  /** Reports that a reply to a request has been read, and whether the request could be composed from the file. */
  readonly answered: (id: string, isComposed: boolean) => void
  /** Adds the requests to the report. */
  readonly finish: () => void
}

/** Number of requests that are kept until their reply is read. A reply comes right after its request. */
const mostKept = 32
/** Maximum number of messages in a request. */
const mostMessages = 10_000

export const createFileRequests = (notes: ImportNotes, shelf: Shelf): FileRequests => {
  /** Places of shapes and messages on the shelf, by hash. */
  const shapes = new Map<string, number>()
  const messages = new Map<string, number>()
  const requests = new Map<string, FileRequest & { readonly place: number }>()
  const state = new Map<string, 'open' | 'composed' | 'unknown'>()
  /** Keys of configurations, so that equal ones are one text in memory. */
  const configurations = new Map<string, string>()

  const readRequest = (fields: Fields): void => {
    const { id, base, keep, tail, shapeHash, params } = fields
    const before = requests.get(String(base))?.hashes ?? (base === undefined ? [] : undefined)
    const kept = typeof keep === 'number' && Number.isInteger(keep) && keep >= 0 ? keep : undefined
    if (!before || kept === undefined || kept > before.length || !isTexts(tail) || !isFields(params)) return
    if (stringOf(id) === undefined || kept + tail.length > mostMessages) return
    const { betas, ...parameters } = params
    const key = JSON.stringify([shapeHash, parameters])
    const shape = configurations.get(key) ?? key
    configurations.set(key, shape)
    requests.set(String(id), {
      id: String(id),
      hashes: [...before.slice(0, kept), ...tail],
      shape,
      betas: isTexts(betas) ? betas : [],
      cache: cacheIn(fields['cacheControl']),
      place: shelf.put({ shapeHash, parameters }),
    })
    const [oldest] = requests.keys()
    if (requests.size > mostKept && oldest !== undefined) requests.delete(oldest)
  }

  const store = (places: Map<string, number>, hash: unknown, value: Fields): void => {
    if (typeof hash === 'string' && !places.has(hash)) places.set(hash, shelf.put(value))
  }

  return {
    read: (fields) => {
      const { type, hash, message, shapeHash, shape } = fields
      if (type === 'api-request') {
        state.set(String(fields['id']), 'open')
        readRequest(fields)
        return true
      }
      if (type === 'api-request-shape' && isFields(shape)) store(shapes, shapeHash, shape)
      else if (type === 'api-request-blob' && isFields(message)) store(messages, hash, message)
      else return false
      notes.mapped(type)
      return true
    },
    at: (id) => requests.get(String(id)),
    configurationOf: ({ id }) => {
      const place = requests.get(id)?.place
      const found = place === undefined ? {} : (shelf.get(place) as Fields)
      const shape = shapes.get(String(found['shapeHash']))
      if (shape === undefined || !isFields(found['parameters'])) return undefined
      const { system, tools } = shelf.get(shape) as Fields
      const { model, ...parameters } = found['parameters']
      const whole = {
        ...(system !== undefined && { system }),
        ...(tools !== undefined && { tools }),
        model,
        parameters,
      }
      const isValid = acceptsData('Configured', whole) || E.isRight(checkJson(dataSchemas.Configured, whole))
      return isValid ? (whole as Configuration) : undefined
    },
    messageWith: (hash) => {
      const place = messages.get(hash)
      return place === undefined ? undefined : (shelf.get(place) as Fields)
    },
    answered: (id, isComposed) => {
      if (state.get(id) !== 'composed') state.set(id, isComposed ? 'composed' : 'unknown')
    },
    finish: () => {
      for (const outcome of state.values()) {
        if (outcome === 'composed') notes.mapped('api-request')
        else if (outcome === 'open') notes.leftOut('api-request', 'the file has no reply to it')
        else notes.leftOut('api-request', 'it shows what no entry of the file tells')
      }
    },
  }
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string')

/** Maximum number of cache breakpoints of a request, and of keys in a path. The API allows four breakpoints. */
const mostBreakpoints = 16

const cacheIn = (list: unknown): FileRequest['cache'] =>
  (Array.isArray(list) ? list.slice(0, mostBreakpoints) : []).flatMap((each: unknown) => {
    if (!isFields(each) || !isFields(each['value']) || !Array.isArray(each['path'])) return []
    const path = each['path'] as readonly unknown[]
    const isPath = path.every((key) => typeof key === 'string' || (Number.isInteger(key) && Number(key) >= 0))
    if (!isPath || path.length === 0 || path.length > mostBreakpoints) return []
    const value = each['value'] as Readonly<Record<string, string>>
    return isTexts(Object.values(value)) ? [{ path: path as readonly (string | number)[], value }] : []
  })
