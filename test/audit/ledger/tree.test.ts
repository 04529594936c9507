import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkConsistency, checkInclusion } from '../../../src/audit/ledger/checks.ts'
import { emptyRoot, leafHash, nodeHash } from '../../../src/audit/ledger/hashes.ts'
import { consistencyProof, inclusionProof } from '../../../src/audit/ledger/proofs.ts'
import {
  type CompletedTile,
  lastTileOf,
  edgeAfter,
  edgeRoot,
  emptyEdge,
  grown,
  hashFrom,
  openTile,
  rowsOf,
} from '../../../src/audit/ledger/tiles.ts'
import { runs } from '../../support/runs.ts'

// The definitions of RFC 6962, section 2.1, word by word: slow, and the model of all that is fast.

const split = (count: number): number => {
  let power = 1
  while (power * 2 < count) power *= 2
  return power
}
const slowRoot = (leaves: readonly Buffer[]): Buffer => {
  if (leaves.length < 2) return leaves[0] ?? emptyRoot
  const k = split(leaves.length)
  return nodeHash(slowRoot(leaves.slice(0, k)), slowRoot(leaves.slice(k)))
}
const slowPath = (m: number, leaves: readonly Buffer[]): readonly Buffer[] => {
  if (leaves.length < 2) return []
  const k = split(leaves.length)
  return m < k
    ? [...slowPath(m, leaves.slice(0, k)), slowRoot(leaves.slice(k))]
    : [...slowPath(m - k, leaves.slice(k)), slowRoot(leaves.slice(0, k))]
}
const slowProof = (m: number, leaves: readonly Buffer[], isWhole = true): readonly Buffer[] => {
  if (m === leaves.length) return isWhole ? [] : [slowRoot(leaves)]
  const k = split(leaves.length)
  return m <= k
    ? [...slowProof(m, leaves.slice(0, k), isWhole), slowRoot(leaves.slice(k))]
    : [...slowProof(m - k, leaves.slice(k), false), slowRoot(leaves.slice(0, k))]
}

const leavesOf = (count: number): readonly Buffer[] =>
  Array.from({ length: count }, (_, n) => leafHash(`leaf ${n}`))

/** A log that grew by so many leaves at a time, and its hashes as its tiles and its edge have them. */
const logOf = (steps: readonly number[]) => {
  const leaves = leavesOf(steps.reduce((sum, step) => sum + step, 0))
  let edge = emptyEdge
  const completed: CompletedTile[] = []
  for (const step of steps) {
    const next = grown(edge, leaves.slice(edge.size, edge.size + step))
    edge = next.edge
    completed.push(...next.completed)
  }
  const hashOf = hashFrom((tile) => {
    const isOpen = tile.index === openTile(edge.size, tile.level)
    return rowsOf((isOpen ? edge : completed[lastTileOf(tile)])?.rows[tile.level] ?? [])
  })
  return { leaves, edge, completed, hashOf }
}

describe('a Merkle log', () => {
  it('has the roots that certificate transparency has for its eight test leaves', () => {
    const hex = [
      '',
      '00',
      '10',
      '2021',
      '3031',
      '40414243',
      '5051525354555657',
      '606162636465666768696a6b6c6d6e6f',
    ]
    const leaves = hex.map((each) => leafHash(Buffer.from(each, 'hex')))
    const roots = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((size) =>
      edgeRoot(grown(emptyEdge, leaves.slice(0, size)).edge).toString('hex'),
    )
    expect(roots).toEqual([
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
      'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
      '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
      'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
      '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
    ])
  })

  it('has the proofs of the example in RFC 6962, section 2.1.3', () => {
    const { leaves, hashOf } = logOf([7])
    const [a, b, c, d, e, f, j] = leaves as [Buffer, Buffer, Buffer, Buffer, Buffer, Buffer, Buffer]
    const [g, h, i] = [nodeHash(a, b), nodeHash(c, d), nodeHash(e, f)]
    const [k, l] = [nodeHash(g, h), nodeHash(i, j)]
    expect(inclusionProof(7, 0, hashOf)).toEqual([b, h, l])
    expect(inclusionProof(7, 3, hashOf)).toEqual([c, g, l])
    expect(inclusionProof(7, 4, hashOf)).toEqual([f, j, k])
    expect(inclusionProof(7, 6, hashOf)).toEqual([i, k])
    expect(consistencyProof(7, 3, hashOf)).toEqual([c, d, g, l])
    expect(consistencyProof(7, 4, hashOf)).toEqual([l])
    expect(consistencyProof(7, 6, hashOf)).toEqual([i, j, k])
  })

  it('has complete tiles of 256 hashes, and can be continued from the last of them', () => {
    const { completed, leaves, edge } = logOf([300, 212, 65_024, 5])
    expect(completed.map(({ index }) => index)).toEqual([...completed.keys()])
    expect(completed.every(({ rows }) => rows[0]?.length === 256)).toBe(true)
    expect(completed.length).toBe(256)
    expect(completed[255]?.rows.map((row) => row.length)).toEqual([256, 256, 1])
    expect(completed[254]?.rows.map((row) => row.length)).toEqual([256, 255])
    expect(completed[255]?.rows[1]?.[255]).toEqual(slowRoot(leaves.slice(65_280, 65_536)))
    const again = grown(edgeAfter(completed[255] as CompletedTile), leaves.slice(65_536))
    expect(again.edge).toEqual(edge)
  })

  const growth = (most: number, least: number) =>
    fc
      .array(fc.integer({ min: 0, max: most }), { minLength: 1, maxLength: 8 })
      .map((steps) => [least, ...steps])

  it.each([
    ['tens', growth(8, 0), 1_000],
    ['some hundreds', growth(120, 250), 20],
  ] as const)(
    'of %s of leaves proves each, and is consistent between any two of its checkpoints',
    (_, grows, dose) => {
      fc.assert(
        fc.property(grows, fc.nat(), (steps, some) => {
          const { leaves, edge, hashOf } = logOf(steps)
          const { size } = edge
          expect(edgeRoot(edge)).toEqual(slowRoot(leaves))
          const sizes = new Set(
            steps.map((_step, n) => steps.slice(0, n + 1).reduce((sum, step) => sum + step, 0)),
          )
          const heads = [...sizes].map((at) => ({ size: at, root: slowRoot(leaves.slice(0, at)) }))
          for (const [n, old] of heads.entries())
            for (const later of heads.slice(n)) {
              const proof = consistencyProof(later.size, old.size, hashOf)
              if (old.size > 0) expect(proof).toEqual(slowProof(old.size, leaves.slice(0, later.size)))
              expect(checkConsistency(old, later, proof)).toBe(true)
            }
          if (size === 0) return
          const index = some % size
          const proof = inclusionProof(size, index, hashOf)
          expect(proof).toEqual(slowPath(index, leaves))
          const leaf = leaves[index] as Buffer
          expect(checkInclusion({ leaf, index, size, root: edgeRoot(edge), proof })).toBe(true)
        }),
        { numRuns: runs(dose) },
      )
    },
  )

  it('does not prove another leaf, index, size or root, nor with another proof', () => {
    const small = fc.integer({ min: 2, max: 600 })
    fc.assert(
      fc.property(
        small,
        fc.nat(),
        fc.nat(),
        fc.integer({ min: 0, max: 5 }),
        (size, somewhere, some, wrong) => {
          const { leaves, edge, hashOf } = logOf([size])
          const index = somewhere % size
          const proof = inclusionProof(size, index, hashOf)
          const right = { leaf: leaves[index] as Buffer, index, size, root: edgeRoot(edge), proof }
          const other = (some % (size - 1)) + (some % (size - 1) >= index ? 1 : 0)
          const changed = [
            { leaf: leaves[other] as Buffer },
            { index: other },
            { proof: proof.slice(1) },
            { proof: [...proof, proof[0] as Buffer] },
            { root: leafHash('another') },
            { proof: proof.with(some % proof.length, leafHash('another')) },
          ][wrong]
          expect(checkInclusion(right)).toBe(true)
          expect(checkInclusion({ ...right, ...changed })).toBe(false)
          if (wrong !== 3) return
          for (const at of [-1, size, 0.5, Number.NaN])
            expect(checkInclusion({ ...right, index: at })).toBe(false)
        },
      ),
      { numRuns: runs(100) },
    )
  })

  it('is not consistent with a log that differs, shrank or forked', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 600 }), fc.nat(), fc.nat(), (size, some, at) => {
        const { leaves, edge, hashOf } = logOf([size])
        const later = { size, root: edgeRoot(edge) }
        const old = 1 + (some % (size - 1))
        const forged = leaves.slice(0, old).with(at % old, leafHash('another'))
        const proof = consistencyProof(size, old, hashOf)
        const head = { size: old, root: slowRoot(leaves.slice(0, old)) }
        expect(checkConsistency(head, later, proof)).toBe(true)
        expect(checkConsistency({ size: old, root: slowRoot(forged) }, later, proof)).toBe(false)
        expect(checkConsistency(later, head, proof)).toBe(false)
        expect(checkConsistency(head, later, proof.slice(1))).toBe(false)
        expect(checkConsistency({ ...head, size: old + 1 }, later, proof)).toBe(false)
        expect(checkConsistency({ ...later, root: leafHash('another') }, later, [])).toBe(false)
      }),
      { numRuns: runs(100) },
    )
  })
})
