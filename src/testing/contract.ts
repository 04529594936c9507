import { completeStore } from '../store/complete-store.ts'
import { plainAdapter } from '../store/own-store.ts'
import type { StoreAdapter } from '../store/port.ts'
import { blobs } from './contract/blobs.ts'
import { closing } from './contract/closing.ts'
import { following } from './contract/following.ts'
import { guarding } from './contract/guarding.ts'
import { globalOrder } from './contract/order.ts'
import { streams } from './contract/streams.ts'
import type { ContractRule } from './contract/support.ts'
import { writing } from './contract/writing.ts'

/** A rule of the store port, with its test. `run` throws if the store breaks the rule. */
export interface ContractCase {
  readonly title: string
  readonly run: (store: StoreAdapter) => Promise<void>
}

const rules: readonly ContractRule[] = [
  ...writing,
  ...guarding,
  ...streams,
  ...globalOrder,
  ...following,
  ...blobs,
  ...closing,
]

/**
 * Contract rules for all stores. Operations that an adapter omits are added by `completeStore`. Run each case on a separate empty
 * store.
 */
export const storeContract: readonly ContractCase[] = rules.map(({ title, run }) => ({
  title,
  run: (store) => run(completeStore(plainAdapter(store))),
}))
