import { blobs } from './contract/blobs.ts'
import { closing } from './contract/closing.ts'
import { following } from './contract/following.ts'
import { guarding } from './contract/guarding.ts'
import { globalOrder } from './contract/order.ts'
import { streams } from './contract/streams.ts'
import type { ContractCase } from './contract/support.ts'
import { writing } from './contract/writing.ts'

export type { ContractCase } from './contract/support.ts'

/** What every event store must do. Run each case on its own empty store. */
export const storeContract: readonly ContractCase[] = [
  ...writing,
  ...guarding,
  ...streams,
  ...globalOrder,
  ...following,
  ...blobs,
  ...closing,
]
