import * as E from 'fp-ts/lib/Either.js'
import { lazily } from '../../result/lazily.ts'
import type { Audit, AuditContext } from './audit.ts'

/** Returns the audit operations of a store. Their code is loaded on first use, because most programs never need it. */
export const lateAudit = (audited: AuditContext): Audit<'task'> => {
  let loading: Promise<Audit<'task'>> | undefined
  const load = async (): Promise<E.Either<never, Audit<'task'>>> =>
    E.right(await (loading ??= import('./audit.ts').then(({ auditOf }) => auditOf(audited))))
  return lazily(
    load,
    ['init', 'seal', 'follow', 'rotateKey', 'status', 'patrol', 'proof', 'standing', 'recordExport'],
    ['exports', 'verify'],
  )
}
