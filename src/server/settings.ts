import type { Store } from '../index.ts'
import type { ServedRequest } from './metrics.ts'
import type { PageFiles } from './page.ts'
import type { EventRelay } from './relay.ts'
import type { Authenticate } from './access-tokens.ts'

/** Settings of a server. */
export interface ServerSettings {
  readonly store: Store
  /** Finds the owner of a token. Without it, anyone may do everything: use it for loopback only. */
  readonly authenticate?: Authenticate | undefined
  /** Names of the server, besides those of loopback. */
  readonly hosts?: readonly string[] | undefined
  /** Reject all writes. */
  readonly isReadOnly?: boolean | undefined
  /** Files of the page. Without them, its addresses explain how to build it. */
  readonly page?: PageFiles | undefined
  /** Folder of the page for exports. Default: the package's own. */
  readonly pageFile?: URL | undefined
  /** Maximum size of a request body, in bytes. Default 64 MiB. */
  readonly maxBody?: number | undefined
  /** Called for each request when its response begins. */
  readonly onRequest?: ((request: ServedRequest) => void) | undefined
  /** Called with faults of this server, which are not disclosed to callers. */
  readonly onFault?: ((error: unknown) => void) | undefined
  /** Source of live events from workers. Default: events posted by workers. */
  readonly relay?: EventRelay | undefined
  /** Interval of the heartbeat on a silent stream, in milliseconds. Default 15,000. */
  readonly heartbeat?: number | undefined
  /** Aborts when the server ends, which ends the streams. */
  readonly ending?: AbortSignal | undefined
}
