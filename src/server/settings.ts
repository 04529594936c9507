import type { Store } from '../index.ts'
import type { ServedRequest } from './metrics.ts'
import type { PageFiles } from './page.ts'
import type { EventRelay } from './relay.ts'
import type { Authenticate } from './tokens.ts'

/** What a server serves, and to whom. */
export interface ServerSettings {
  readonly store: Store
  /** Who a token belongs to. Without it everybody may do everything: for loopback only. */
  readonly authenticate?: Authenticate | undefined
  /** The names that it may be called by, besides those of loopback. */
  readonly hosts?: readonly string[] | undefined
  /** Refuse everything that writes. */
  readonly isReadOnly?: boolean | undefined
  /** The page that people look at. Without it, its addresses say how it is built. */
  readonly page?: PageFiles | undefined
  /** The folder of the page for exports. Default: the package's own. */
  readonly pageFile?: URL | undefined
  /** The largest body of a request, in bytes. Default 64 MiB. */
  readonly maxBody?: number | undefined
  /** Told of each request when its answer begins. */
  readonly onRequest?: ((request: ServedRequest) => void) | undefined
  /** Told of faults of this server, which callers are not told of. */
  readonly onFault?: ((error: unknown) => void) | undefined
  /** What workers tell of their turns. Default: what they post. */
  readonly relay?: EventRelay | undefined
  /** How often a silent stream shows that it lives, in milliseconds. Default 15,000. */
  readonly heartbeat?: number | undefined
  /** Aborts when the server ends: streams end then. */
  readonly ending?: AbortSignal | undefined
}
