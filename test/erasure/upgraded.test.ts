import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { judged, onlyPython, python, runPython } from '../support/evidence/python.ts'
import { bytesIn, formsIn, formsOf } from '../support/forms.ts'
import { temporaryFolder } from '../support/stores.ts'

const golden = fileURLToPath(new URL('../golden/', import.meta.url))
const bundles = join(golden, 'bundles/sqlite-685f4a1')
const ids = ['task-42', 'task-43', 'task-44']
const texts = [
  'My card is 4111-2222. Is it valid?',
  'The card 4111-2222 is valid.',
  'And my other card, 4333-4444?',
  'Card 4555-6666. All of it.',
]

test.skipIf(python === undefined)(
  `a store that 0.1.0 wrote can erase, and its ledger proves the old and the new bundles${onlyPython}`,
  async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'store.db')
    const db = new DatabaseSync(file)
    db.exec(readFileSync(join(golden, 'stores/sqlite-685f4a1.sql'), 'utf8'))
    db.exec("UPDATE blobs SET time = '2026-01-01T00:00:00.000Z'")
    const store = await openStore(`sqlite:${file}`)
    atEnd(store.close)
    const key = readFileSync(join(bundles, 'ledger.pub'), 'utf8').trim()
    const old = ids.map((id) => join(bundles, id))
    const isStored = () => texts.map((text) => formsIn(bytesIn(folder), formsOf(text)).length > 0)
    const verified = () => Promise.all(ids.map((id) => store.conversation(id).verify()))

    expect(isStored()).toEqual([true, true, true, true])
    // 0.1.0 did not overwrite the space that it freed: docs/erasure.md.
    db.exec('PRAGMA secure_delete = ON; VACUUM')
    db.close()
    expect(await verified()).toMatchObject([{ guessable: 7 }, { guessable: 4 }, { guessable: 3 }])
    for (const id of ids) await store.conversation(id).erase({ by: 'ann' })
    expect(isStored()).toEqual([false, false, false, false])
    for (const { discrepancy } of await verified()) expect(discrepancy).toBeUndefined()

    const now = temporaryFolder()
    for (const id of ids) {
      const chat = store.conversation(id)
      expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
      await chat.evidence({ folder: join(now, id), ledger: await store.audit.proof(id, { compare: true }) })
      const [before, after] = [join(bundles, id), join(now, id)].map((bundle) =>
        readFileSync(join(bundle, 'checkpoint.txt'), 'utf8'),
      )
      expect(after).toBe(before)
    }
    // The bundle of task-44 was written without its first event.
    expect(judged(old, key).status).toBe(3)
    const itsOwn = runPython(readFileSync(join(bundles, 'verify.py'), 'utf8'), ...old, '--key', key)
    expect(itsOwn.stdout.match(/^ {2}PROVEN.*$/gm)).toEqual([
      '  PROVEN',
      '  PROVEN',
      '  PROVEN, APART FROM WHAT IS LEFT OUT',
    ])
    const fresh = judged(
      ids.map((id) => join(now, id)),
      key,
    )
    // Nothing contradicts them; only the `Erased` events are not sealed.
    for (const lines of fresh.said.values())
      expect(lines.at(-1)).toBe('NOT PROVEN: the last event is newer than the ledger')
    expect(fresh.said.size).toBe(3)
  },
)
