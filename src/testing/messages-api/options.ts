import type { Failure, Reply } from './replies.ts'
import type { Body, Model } from './request.ts'

export interface MessagesApiOptions {
  /**
   * What to answer to a valid request, the `n`th (from 0) of those to create a message. By default a reply made of the request
   * and the seed.
   */
  readonly reply?: (body: Body, n: number) => Reply | Failure | Promise<Reply | Failure>
  /** The only key that is taken, as `x-api-key` or as a bearer token. Default: any. */
  readonly apiKey?: string
  /** Decides default replies, ids and signatures: a server with the same seed takes this one's signatures as its own. Default 0. */
  readonly seed?: number
  /** Models by name, besides the default ones or instead of them. What is not said of a model is as that of `claude-opus-5-5`. */
  readonly models?: Readonly<Record<string, Partial<Model>>>
  /** The time of the prompt cache, in milliseconds. Default: the clock. */
  readonly now?: () => number
  /** Thinking and compactions that this server did not make are taken as valid, whatever stands before them. Default false. */
  readonly foreignSignatures?: boolean
  /** A server tool that waits in a request's last message is taken as one that another server's pause left open. Default false. */
  readonly foreignPauses?: boolean
}

const newest: Model = {
  contextWindow: 200_000,
  maxOutput: 64_000,
  prefill: false,
  systemMessages: true,
  minCached: 1_024,
}
const defaultModels: Readonly<Record<string, Partial<Model>>> = {
  'claude-opus-5-5': {},
  'claude-sonnet-5-5': {},
  'claude-haiku-4-5': { prefill: true, systemMessages: false },
}

/** The models that requests may name. */
export const modelsOf = ({ models }: MessagesApiOptions): ReadonlyMap<string, Model> =>
  new Map(
    Object.entries({ ...defaultModels, ...models }).map(([name, model]) => [name, { ...newest, ...model }]),
  )
