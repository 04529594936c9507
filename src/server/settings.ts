import type { Store } from '../index.ts'
import type { TypedError } from '../result/typed-error.ts'
import type { ServedRequest } from './metrics.ts'
import type { PageFiles } from './page.ts'
import type { EventRelay } from './relay.ts'
import type { Authenticate } from './access-tokens.ts'

export interface ServerSettings {
  readonly store: Store
  /** Finds the owner of a token. If absent, anyone may do everything, so omit it on loopback only. */
  readonly authenticate?: Authenticate | undefined
  /** Host names by which clients may call the server, in addition to the loopback names. */
  readonly hosts?: readonly string[] | undefined
  /** Returns the reason why no token is accepted at present, if there is one; the server is then not ready. */
  readonly tokenProblem?: (() => TypedError | undefined) | undefined
  /** True if all writes are rejected. */
  readonly isReadOnly?: boolean | undefined
  /** Returns the error with which every write will fail, if one is known; the server is then not ready. Absent if nothing writes. */
  readonly writeProblem?: (() => Promise<TypedError | undefined>) | undefined
  /** Called when the server is found not ready, with the reason, and when it is ready again, with `undefined`. */
  readonly onReadiness?: ((problem: string | undefined) => void) | undefined
  /** Returns what people should look at although the server is ready, such as a sealer that must not sign. */
  readonly warnings?: (() => readonly string[]) | undefined
  /** Files of the built page. Without them, requests for the page get an error that explains how to build it. */
  readonly page?: PageFiles | undefined
  /** Folder of the page for HTML exports. Default: the folder in the package. */
  readonly pageFile?: URL | undefined
  /** Maximum size of a request body, in bytes. Default 64 MiB. */
  readonly maxBody?: number | undefined
  /** Called for each request when its response begins. */
  readonly onRequest?: ((request: ServedRequest) => void) | undefined
  /** Called with errors that are the server's fault. Their details are not disclosed to callers. */
  readonly onFault?: ((error: unknown) => void) | undefined
  /** Source of live events from workers. Default: events posted by workers. */
  readonly relay?: EventRelay | undefined
  /** Interval of the heartbeat on an idle stream, in milliseconds. Default 15,000. */
  readonly heartbeat?: number | undefined
  /** Time after which a requested turn's stream ends if no worker serves the store, in milliseconds. Default 30,000. */
  readonly unservedAfter?: number | undefined
  /** Maximum number of event streams that are open at the same time. Default 1,000. */
  readonly mostStreams?: number | undefined
  /** Signal that aborts when the server ends. Open event streams end with it. */
  readonly ending?: AbortSignal | undefined
}
