import { fileAnchor } from '../../src/audit.ts'
import { type AuditProblem, openStore } from '../../src/index.ts'
import { verdictLines, verifyEvidence } from '../../src/audit/evidence/verify.ts'
import { parseKey } from '../../src/audit/ledger/keys.ts'
import { orThrow } from '../../src/result/fallible.ts'
import type { Made } from './made.ts'

/** What the auditor finds, who has the key and the checkpoints, and is shown this file. */
export const auditOf = async (file: string, { anchor, key }: Made): Promise<readonly AuditProblem[]> => {
  const store = await openStore(`sqlite:${file}`)
  const problems: AuditProblem[] = []
  try {
    for await (const finding of store.audit.verify({ anchors: [fileAnchor(anchor)], key }))
      if (finding.type === 'problem') problems.push(finding)
  } finally {
    await store.close()
  }
  return problems
}

/** What is said of the bundle. */
export const bundleLines = async ({ bundle, key }: Made): Promise<readonly string[]> =>
  verdictLines(await verifyEvidence(bundle, await orThrow(parseKey(key))))
