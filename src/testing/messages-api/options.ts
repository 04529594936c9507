import type { ApiFailure, ApiReply } from './replies.ts'
import type { ApiRequest, ApiModel } from './request.ts'

export interface MessagesApiOptions {
  /**
   * Function that returns the answer to the `n`th valid request for a message, counted from 0. Default: a reply that depends on the
   * request and the seed.
   */
  readonly reply?:
    | ((body: ApiRequest, n: number) => ApiReply | ApiFailure | Promise<ApiReply | ApiFailure>)
    | undefined
  /** The only accepted key, sent as `x-api-key` or as a bearer token. Default: any key is accepted. */
  readonly apiKey?: string | undefined
  /** Seed for default replies, ids and signatures. Servers with the same seed accept each other's signatures. Default 0. */
  readonly seed?: number | undefined
  /** Models by name, added to the default models or replacing them. Omitted fields have the values of `claude-opus-5-5`. */
  readonly models?: Readonly<Record<string, Partial<ApiModel>>> | undefined
  /** Clock for the prompt cache, in milliseconds. Default: the system clock. */
  readonly now?: (() => number) | undefined
  /** True to accept thinking and compactions that this server did not produce, regardless of the preceding content. Default false. */
  readonly foreignSignatures?: boolean | undefined
  /** True to accept a server tool use without a result in the last message, as in a reply paused by another server. Default false. */
  readonly foreignPauses?: boolean | undefined
}

const newest: ApiModel = {
  contextWindow: 200_000,
  maxOutput: 128_000,
  prefill: false,
  systemMessages: true,
  minCached: 1_024,
}
const defaultModels: Readonly<Record<string, Partial<ApiModel>>> = {
  'claude-opus-5-5': {},
  'claude-sonnet-5-5': {},
  'claude-haiku-4-5': { maxOutput: 64_000, prefill: true, systemMessages: false },
}

export const modelsOf = ({ models }: MessagesApiOptions): ReadonlyMap<string, ApiModel> =>
  new Map(
    Object.entries({ ...defaultModels, ...models }).map(([name, model]) => [name, { ...newest, ...model }]),
  )
