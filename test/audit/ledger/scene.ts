import { join } from 'node:path'
import {
  type AuditOptions,
  type AuditProblem,
  openStore,
  type RecordedExport,
  type Signer,
  type Store,
} from '../../../src/index.ts'
import { newKeyFile } from '../../../src/audit.ts'
import { atEnd } from '../../support/at-end.ts'
import { stores, temporaryFolder } from '../../support/stores.ts'

/** A new key, in a file of its own. */
export const newSigner = (): Promise<Signer> => newKeyFile(join(temporaryFolder(), 'key.pem'))

/** An empty store of this kind, closed after the test. */
export const storeOf = async (kind: string): Promise<Store> => {
  const store = await openStore(await (stores[kind] as (typeof stores)[string])())
  atEnd(store.close)
  return store
}

/** Says something in each of these conversations. */
export const say = async (store: Store, ids: readonly string[], content = 'Hello.'): Promise<void> => {
  await Promise.all(ids.map((id) => store.conversation(id).append({ role: 'user', content })))
}

/** What an audit finds, besides columns of the file that were changed carelessly: test/store/sqlite-columns.test.ts. */
export const problemsIn = async (
  store: Store,
  options: AuditOptions = {},
): Promise<readonly Pick<AuditProblem, 'kind' | 'conversation' | 'revision'>[]> => {
  const problems = []
  for await (const finding of store.audit.verify(options))
    if (finding.type === 'problem' && !finding.message.includes('its columns do not match its events')) {
      const { type: _type, message: _message, ...rest } = finding
      problems.push(rest)
    }
  return problems
}

/** The exports that were recorded, the newest first. */
export const exportsOf = async (store: Store): Promise<readonly RecordedExport[]> => {
  const all: RecordedExport[] = []
  for await (const one of store.audit.exports()) all.push(one)
  return all
}
