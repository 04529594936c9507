import { randomBytes } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { Actor } from '../../events/events.ts'
import { invalidInput } from '../../events/errors.ts'
import { run, unwrap, type Fallible } from '../../result/fallible.ts'
import type { EventStore } from '../../store/port.ts'
import { appendEntries, type LedgerWriter } from './append.ts'
import { entryText } from './entries.ts'
import { type BeginError, ledgerExists, ledgerIntact, type SealError } from './errors.ts'
import { ledgerStream } from './facts.ts'
import { isKeyName, keyText, type Signer, verifierKey } from './keys.ts'
import { begunLast, loadLedger } from './log.ts'
import { checkSigner } from './sign.ts'
import { encodeFact } from './stored-facts.ts'

/** Options for beginning a ledger. */
export interface BeginOptions {
  readonly signer: Signer
  /** Permanent name of the ledger, such as `example.com/support`. Default: `palimpsest/` and eight random characters. */
  readonly origin?: string | undefined
  /** Reason to begin another ledger although one exists, for example because its key or some of its entries are lost permanently. */
  readonly again?: string | undefined
  /** True to replace a ledger that is intact as far as the store can tell. Default false. */
  readonly force?: boolean | undefined
}

/** Origin and verifier key of a new ledger, or of a ledger whose key was replaced. */
export interface LedgerKey {
  readonly origin: string
  /** Verifier key, to be given to the people who will check the ledger. */
  readonly key: string
}

/**
 * Begins a ledger. If the store already has one, the origin must be new, so that a checkpoint of one ledger cannot pass for a
 * checkpoint of another. An intact ledger is replaced only with `force`.
 */
export async function* beginLedger(
  store: EventStore,
  actor: Actor,
  { signer, origin = `palimpsest/${randomBytes(4).toString('hex')}`, again, force = false }: BeginOptions,
): Fallible<BeginError, LedgerKey> {
  if (!isKeyName(origin))
    return yield invalidInput(
      'origin',
      'must have 1 to 200 characters, none of them a space or +, such as example.com/support',
    )
  const before = yield* begunLast(store)
  if (before && again === undefined) return yield ledgerExists(before.origin)
  if (before && !force && E.isRight(await run(loadLedger(store)))) return yield ledgerIntact(before.origin)
  if (before?.origin === origin)
    return yield invalidInput('origin', 'must differ from the origin of the previous ledger')
  const key = keyText(verifierKey(origin, signer.publicKey))
  const data = { origin, key, ...(before && again !== undefined && { reason: again }) }
  const event = yield* unwrap(encodeFact(ledgerStream, { type: 'LedgerBegun', data }, actor))
  yield* unwrap(
    store.append({ stream: ledgerStream, events: [event], expected: before?.number ?? -1, repeat: 'none' }),
  )
  return { origin, key }
}

/**
 * Announces another key in an entry that both keys sign. Afterwards, only the new key signs, and only for continuations of the ledger
 * from this entry.
 */
export async function* rotateKey(writing: LedgerWriter, to: Signer): Fallible<SealError, LedgerKey> {
  const ledger = yield* loadLedger(writing.store)
  yield* unwrap(checkSigner(ledger, writing.signer))
  const key = keyText(verifierKey(ledger.origin, to.publicKey))
  const entries = [yield* unwrap(entryText({ type: 'key', key }))]
  yield* appendEntries(writing, ledger, { entries, after: ledger.after, to })
  return { origin: ledger.origin, key }
}
