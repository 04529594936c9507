import type { ApiFailure, ApiReply } from './replies.ts'
import type { ApiRequest, ApiModel } from './request.ts'

export interface MessagesApiOptions {
  /**
   * Answer to a valid request, the `n`th (from 0) of those that create a message. By default, a reply that depends on the request and
   * the seed.
   */
  readonly reply?:
    | ((body: ApiRequest, n: number) => ApiReply | ApiFailure | Promise<ApiReply | ApiFailure>)
    | undefined
  /** The only key accepted, as `x-api-key` or as a bearer token. Default: any. */
  readonly apiKey?: string | undefined
  /** Seed of default replies, ids and signatures: servers with the same seed accept each other's signatures. Default 0. */
  readonly seed?: number | undefined
  /** Models by name, which extend or replace the default ones. Missing fields are those of `claude-opus-5-5`. */
  readonly models?: Readonly<Record<string, Partial<ApiModel>>> | undefined
  /** Clock of the prompt cache, in milliseconds. Default: the system clock. */
  readonly now?: (() => number) | undefined
  /** Accept thinking and compactions that this server did not make, regardless of what precedes them. Default false. */
  readonly foreignSignatures?: boolean | undefined
  /** Accept a server tool use without a result in the last message, as left open by another server's pause. Default false. */
  readonly foreignPauses?: boolean | undefined
}

const newest: ApiModel = {
  contextWindow: 200_000,
  maxOutput: 64_000,
  prefill: false,
  systemMessages: true,
  minCached: 1_024,
}
const defaultModels: Readonly<Record<string, Partial<ApiModel>>> = {
  'claude-opus-5-5': {},
  'claude-sonnet-5-5': {},
  'claude-haiku-4-5': { prefill: true, systemMessages: false },
}

/** Returns the models that requests may name. */
export const modelsOf = ({ models }: MessagesApiOptions): ReadonlyMap<string, ApiModel> =>
  new Map(
    Object.entries({ ...defaultModels, ...models }).map(([name, model]) => [name, { ...newest, ...model }]),
  )
