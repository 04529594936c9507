import { spawn, spawnSync } from 'node:child_process'
import { generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { text as textOf } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { publicBytes } from '../../../src/audit/ledger/keys.ts'
import { onlyPython, python, runPython, script } from '../../support/evidence/python.ts'

/** What a program that has the verifier as `v` prints as JSON. */
const answered = (program: string, ...args: readonly string[]): unknown => {
  const { stdout, stderr } = runPython(
    `import importlib.util, json, sys
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location('v', ${JSON.stringify(script)})
v = importlib.util.module_from_spec(spec)
spec.loader.exec_module(v)
${program}`,
    ...args,
  )
  if (stderr !== '') throw new Error(stderr)
  return JSON.parse(stdout)
}

// RFC 8032, 7.1: TEST 1, 2 and 3.
const signatures = [
  [
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ],
  [
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    '72',
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ],
  [
    'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    'af82',
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  ],
]

// The leaves and roots that implementations of RFC 6962 and 9162 test with.
const leaves = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
]
const roots = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

describe(`verify.py${onlyPython}`, () => {
  const source = readFileSync(script, 'utf8')

  it('is at most 240 lines, none of them long', () => {
    const lines = source.trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(240)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(140)
  })

  it.skipIf(!python)('says what was given in place of a key', () => {
    const ran = spawnSync(python as string, ['-I', '-B', script, 'e', '--key', 'a+1\u001b'], {
      encoding: 'utf8',
    })
    expect(ran.status).toBe(2)
    expect(ran.stderr).toContain('--key a+1\ufffd is neither a verifier key')
  })

  it('imports the standard library only', () => {
    const imported = [...source.matchAll(/^\s*(?:import|from) ([\w, ]+?)(?: import .*)?$/gm)].flatMap(
      ([, names = '']) => names.split(', '),
    )
    expect(imported.toSorted()).toEqual(
      'argparse base64 functools hashlib json pathlib re signal struct sys'.split(' '),
    )
  })

  it.skipIf(!python || process.platform === 'win32')('ends quietly when nobody reads on', async () => {
    const child = spawn(python as string, [script, 'a', 'b'])
    child.stdout.destroy()
    expect(await textOf(child.stderr)).toBe('')
  })

  it.skipIf(!python)('accepts the signatures of RFC 8032, and none with a bit changed', () => {
    expect(
      answered(
        `cases = [[bytes.fromhex(x) for x in case] for case in json.loads(sys.argv[1])]
flip = lambda code, bit: bytes(b ^ (1 << bit % 8 if i == bit // 8 else 0) for i, b in enumerate(code))
print(json.dumps([[v.is_signed(k, t, s), v.is_signed(k, t + b'x', s),
  any(v.is_signed(k, t, flip(s, bit)) for bit in range(0, 512, 41)), any(v.is_signed(flip(k, bit), t, s) for bit in range(0, 256, 51)),
  v.is_signed(k, t, s[:32] + (int.from_bytes(s[32:], 'little') + v.L).to_bytes(32, 'little'))] for k, t, s in cases]))`,
        JSON.stringify(signatures),
      ),
    ).toEqual(signatures.map(() => [true, false, false, false, false]))
  })

  it.skipIf(!python)('accepts what OpenSSL signs', () => {
    const made = Array.from({ length: 20 }, (_, n) => {
      const { privateKey } = generateKeyPairSync('ed25519')
      const text = Buffer.alloc(n * 7, n)
      return [publicBytes(privateKey) as Buffer, text, sign(null, text, privateKey)].map((bytes) =>
        bytes.toString('hex'),
      )
    })
    const program = `print(json.dumps([v.is_signed(*(bytes.fromhex(x) for x in case)) for case in json.loads(sys.argv[1])]))`
    expect(answered(program, JSON.stringify(made))).toEqual(made.map(() => true))
  })

  it.skipIf(!python)('makes the known roots of the proofs of RFC 9162, and no other of a wrong proof', () => {
    expect(
      answered(
        `leaves, roots = ([bytes.fromhex(x) for x in json.loads(arg)] for arg in sys.argv[1:3])
leaves = [v.sha256(b'\\0' + leaf) for leaf in leaves]
def tree(all): # RFC 9162, 2.1.1
    if len(all) == 1: return all[0]
    k = max(2 ** i for i in range(9) if 2 ** i < len(all))
    return v.sha256(b'\\1' + tree(all[:k]) + tree(all[k:]))
def path(m, all): # 2.1.3.1
    if len(all) == 1: return []
    k = max(2 ** i for i in range(9) if 2 ** i < len(all))
    return path(m, all[:k]) + [tree(all[k:])] if m < k else path(m - k, all[k:]) + [tree(all[:k])]
right, wrong = [], []
for n in range(1, 9):
    right.append(tree(leaves[:n]) == roots[n - 1])
    for m in range(n):
        proof = path(m, leaves[:n])
        right.append(v.root_of(leaves[m], m, n, proof) == roots[n - 1])
        others = [(m, n, proof + [leaves[0]]), (m, n, proof[:-1]) if proof else (m + 1, n, proof), (m + n, n, proof), (-1 - m, n, proof), (m, n + 8, proof)]
        wrong += [v.root_of(leaves[m], *other) == roots[n - 1] for other in others]
print(json.dumps([all(right), any(wrong), len(right), len(wrong)]))`,
        JSON.stringify(leaves),
        JSON.stringify(roots),
      ),
    ).toEqual([true, false, 44, 180])
  })

  it.skipIf(!python)('finishes SHA-256 from any block on', () => {
    expect(
      answered(
        `import hashlib
start = b''.join(int(n ** .5 % 1 * 2 ** 32).to_bytes(4, 'big') for n in (2, 3, 5, 7, 11, 13, 17, 19))
texts = [bytes(i * 7 % 256 for i in range(n)) for n in range(0, 200)]
print(json.dumps(all(v.finished(start, text, len(text)) == hashlib.sha256(text).digest() for text in texts)))`,
      ),
    ).toBe(true)
  })
})
