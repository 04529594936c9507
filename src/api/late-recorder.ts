import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { isFields } from '../events/json.ts'
import type { ModelExchange } from '../recorder/exchange.ts'
import type { CallRecorder, RecorderMeans } from '../recorder/recorder.ts'
import { run } from '../result/fallible.ts'
import type { TaskStore } from './store.ts'

/** Returns a method that records calls one at a time. The recorder is loaded on the first call. */
export const lateRecorder = (means: RecorderMeans): TaskStore['record'] => {
  let recorder: Promise<CallRecorder> | undefined
  let last: Promise<unknown> = Promise.resolve()
  return (exchange) => () => {
    const checked = checkExchange(exchange)
    if (E.isLeft(checked)) return Promise.resolve(checked)
    recorder ??= import('../recorder/recorder.ts').then(({ createRecorder }) => createRecorder(means))
    const made = recorder
    const done = last.then(async () => run((await made).record(checked.right)))
    last = done.catch(() => undefined)
    return done
  }
}

const isBytes = (value: unknown): boolean => value instanceof Uint8Array
const isDate = (value: unknown): boolean => value instanceof Date && !Number.isNaN(value.getTime())

/** Checks the form of an exchange, because JavaScript callers may pass anything. */
const checkExchange = (exchange: unknown): E.Either<InvalidInput, ModelExchange> => {
  const wrong = (path: string, problem: string) => E.left(invalidInput(path, problem))
  if (!isFields(exchange))
    return wrong('exchange', 'must be an object with path, headers, body, begun, ended and reply')
  const { id, path, headers, body, begun, ended, reply } = exchange
  if (id !== undefined && (typeof id !== 'string' || !/^[\w-]{1,100}$/.test(id)))
    return wrong('id', 'must be 1 to 100 letters, digits, hyphens and underscores')
  if (exchange['isOpen'] === true && id === undefined)
    return wrong('id', 'is needed for a call that is open, because its end is recorded later')
  if (typeof path !== 'string') return wrong('path', 'must be the path of a URL, such as /v1/messages')
  if (!isFields(headers)) return wrong('headers', 'must be an object with the headers of the request')
  if (!isBytes(body)) return wrong('body', 'must be a Uint8Array')
  if (!isDate(begun)) return wrong('begun', 'must be a valid Date')
  if (!isDate(ended)) return wrong('ended', 'must be a valid Date')
  if (!isFields(reply)) return wrong('reply', 'must be an object with status, headers, body and isWhole')
  if (typeof reply['status'] !== 'number') return wrong('reply.status', 'must be a number')
  if (!isFields(reply['headers']))
    return wrong('reply.headers', 'must be an object with the headers of the reply')
  if (!isBytes(reply['body'])) return wrong('reply.body', 'must be a Uint8Array')
  if (typeof reply['isWhole'] !== 'boolean') return wrong('reply.isWhole', 'must be true or false')
  return E.right(exchange as unknown as ModelExchange)
}
