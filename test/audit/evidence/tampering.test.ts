import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { verdictLines, verifyEvidence } from '../../../src/audit/evidence/verify.ts'
import { callsInLog } from '../../../src/investigate/replies.ts'
import { parseKey } from '../../../src/audit/ledger/keys.ts'
import { right } from '../../support/either.ts'
import { exportAll, type Sealed, sealedConversations } from '../../support/evidence/bundles.ts'
import { judged, onlyPython, python } from '../../support/evidence/python.ts'
import { tamper } from '../../support/evidence/tamper.ts'
import { runs, scale } from '../../support/runs.ts'
import { temporaryFolder } from '../../support/stores.ts'

/** Conversations at once; a Python for each. */
const batch = 60
/** Tamperings of each: the full dose has another conversation for each. */
const each = scale > 5 ? 1 : 3
const conversations = runs(200)
const seed = Number(process.env['PALIMPSEST_SEED'] ?? 0)

/** Numbers that follow from a seed. */
const picker = (from: number): ((below: number) => number) => {
  const numbers = fc.sample(fc.nat(), { numRuns: 200, seed: from })
  let next = 0
  return (below) => (numbers[next++ % numbers.length] ?? 0) % Math.max(1, below)
}

/** Every second one whole; of the others some events are withheld, or calls left out. */
const choose = ({ log }: Sealed, n: number) => {
  const pick = picker(seed + n)
  const calls = callsInLog(log).length
  if (n % 4 === 3) return calls > 0 ? { calls: { first: 1, last: Math.min(2, calls) } } : {}
  if (n % 2 === 0) return {}
  const positions = Array.from({ length: 1 + pick(3) }, () => pick(log.length))
  return { withhold: positions.filter((position) => log[position]?.type !== 'Forked') }
}

const verdictOf = (lines: readonly string[] | undefined): string => lines?.at(-1)?.split(':')[0] ?? 'nothing'
const isBelieved = (verdict: string): boolean => verdict.startsWith('PROVEN')

describe(`the verifier in a bundle${onlyPython}`, () => {
  it.skipIf(!python)(
    'believes every bundle that was not touched and none that was, and our own says the same of each',
    { timeout: 900_000 * Math.max(1, scale) },
    async () => {
      const counts = { untouched: 0, tampered: 0 }
      for (let from = 0; from < conversations; from += batch) {
        const folder = temporaryFolder()
        const sealed = await sealedConversations(Math.min(batch, conversations - from), seed + from)
        const { key, folders } = await exportAll(sealed, folder, choose)
        const done = new Map<string, string>()
        for (const [n, own] of folders.entries())
          for (let time = 0; time < each; time++) {
            const copy = join(folder, `t${n}-${time}`)
            cpSync(own, copy, { recursive: true })
            done.set(
              copy,
              await tamper(copy, (from + n) * each + time, picker(seed + from + n * each + time)),
            )
          }
        const { said } = judged([...folders, ...done.keys()], key)
        for (const own of folders)
          expect(said.get(own), `untouched: ${own}`).toSatisfy((lines) => isBelieved(verdictOf(lines)))
        for (const [copy, what] of done)
          expect(said.get(copy), `tampered with: ${what}`).toSatisfy((lines) => !isBelieved(verdictOf(lines)))
        for (const [where, lines] of said) {
          const ours = verdictLines(await verifyEvidence(where, right(parseKey(key))))
          expect(ours, `after this: ${done.get(where) ?? 'nothing'}`).toEqual(lines)
        }
        counts.untouched += folders.length
        counts.tampered += done.size
        rmSync(folder, { recursive: true })
      }
      process.stdout.write(`bundles: ${counts.untouched} untouched, ${counts.tampered} tampered with\n`)
    },
  )

  it.skipIf(!python)(
    'says the same as our own of a checkpoint that ends anywhere in its signature',
    async () => {
      const folder = temporaryFolder()
      const { key, folders } = await exportAll(await sealedConversations(1, 1), folder)
      const cut = Array.from({ length: 9 }, (_, n) => {
        const copy = join(folder, `cut-${n}`)
        cpSync(folders[0] as string, copy, { recursive: true })
        const file = join(copy, 'checkpoint.txt')
        writeFileSync(file, readFileSync(file).subarray(0, -1 - n))
        return copy
      })
      const empty = join(folder, 'empty')
      cpSync(folders[0] as string, empty, { recursive: true })
      writeFileSync(join(empty, 'checkpoint.txt'), '')
      expect(judged([empty], key).said.get(empty)?.join('\n')).toContain('checkpoint.txt is empty')
      for (const [where, lines] of judged([...cut, empty], key).said) {
        expect(verdictLines(await verifyEvidence(where, right(parseKey(key))))).toEqual(lines)
        expect(verdictOf(lines)).toBe('BROKEN')
      }
    },
  )
})
