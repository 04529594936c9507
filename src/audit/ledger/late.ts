import type { Audit, AuditContext } from './audit.ts'

/** The audit of a store, loaded when something is asked of it: most programs ask nothing. */
export const lateAudit = (audited: AuditContext): Audit<'task'> => {
  let loading: Promise<Audit<'task'>> | undefined
  const loaded = (): Promise<Audit<'task'>> =>
    (loading ??= import('./audit.ts').then(({ auditOf }) => auditOf(audited)))
  return {
    init: (options) => async () => (await loaded()).init(options)(),
    seal: (options) => async () => (await loaded()).seal(options)(),
    follow: (options) => async () => (await loaded()).follow(options)(),
    rotateKey: (options) => async () => (await loaded()).rotateKey(options)(),
    status: (options) => async () => (await loaded()).status(options)(),
    patrol: (options) => async () => (await loaded()).patrol(options)(),
    proof: (conversation, options) => async () => (await loaded()).proof(conversation, options)(),
    standing: (conversation) => async () => (await loaded()).standing(conversation)(),
    recordExport: (record) => async () => (await loaded()).recordExport(record)(),
    async *exports() {
      yield* (await loaded()).exports()
    },
    async *verify(options) {
      yield* (await loaded()).verify(options)
    },
  }
}
