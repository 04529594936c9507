import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { taskConversation } from '../../src/api/conversation.ts'
import { verifyEvidence } from '../../src/audit/evidence/verify.ts'
import { parseKey } from '../../src/audit/ledger/keys.ts'
import { verifyReceipts } from '../../src/agent/receipts/audit.ts'
import { right } from '../support/either.ts'
import { exportAll, headsOf, sealedConversations } from '../support/evidence/bundles.ts'
import type { Head } from '../support/evidence/ledger.ts'
import { judged, onlyPython, python } from '../support/evidence/python.ts'
import { runs, scale } from '../support/runs.ts'
import { noCatalogue } from '../support/no-catalogue.ts'

// Bundles from before an erasure stay valid, and those from after it are, too: by both verifiers, with the same ledger.

/** Number of conversations whose entries, old and new, fit into a ledger of the tests. */
const most = 40
const bundles = scale >= 10 ? 500 : runs(120)
/** Seeds of the groups of conversations, each with a ledger of its own. */
const seeds = Array.from({ length: Math.ceil(bundles / most) }, (_, n) => 58 + n)

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-erased-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const verdictsOf = async (folders: readonly string[], key: string) => {
  const ours = await Promise.all(folders.map((one) => verifyEvidence(one, right(parseKey(key)))))
  return ours.map(({ verdict, problem }) => problem ?? verdict)
}

describe(`bundles of conversations of which content is erased${onlyPython}`, () => {
  it.skipIf(python === undefined).each(seeds)(
    'are valid, from before and from after, and the ledger is the same (seed %d)',
    { timeout: 300_000 },
    async (seed) => {
      const sealed = await sealedConversations(Math.min(most, bundles), seed)
      const before = await exportAll(sealed, join(folder, `${seed}-before`))
      let erased = 0
      for (const [n, { chat }] of sealed.entries()) {
        const talk = taskConversation(chat, noCatalogue)
        const last = right(await chat.position()())
        const all = Array.from({ length: last + 1 }, (_, position) => position)
        const done = await talk.erase({ positions: all.filter((position) => (position * 7 + n) % 3 === 0) })()
        if ('right' in done) erased += done.right.positions.length
        else
          for (const position of all) {
            const one = await talk.erase({ positions: [position] })()
            if ('right' in one && position % 2 === 0) erased += one.right.positions.length
          }
        const receipts = right(await verifyReceipts(chat)())
        expect(receipts.findings).toEqual([])
      }
      expect(erased).toBeGreaterThan(sealed.length)
      // With what was sealed before the erasure, too.
      const resealed = sealed.map(async (one) => {
        const now = await headsOf(one.chat)
        const isNew = (head: Head): boolean =>
          !one.heads.some(({ name, revision }) => name === head.name && revision === head.revision)
        return { ...one, heads: [...one.heads, ...now.filter(isNew)] }
      })
      const after = await exportAll(await Promise.all(resealed), join(folder, `${seed}-after`))
      for (const { folders, key } of [before, after]) {
        const ours = await verdictsOf(folders, key)
        // What was erased is left out, so that less is proven: nothing is broken.
        expect(ours.filter((verdict) => verdict !== 'proven' && verdict !== 'partly')).toEqual([])
        expect([0, 3]).toContain(judged(folders, key).status)
      }
    },
  )
})
