import { existsSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import { toError } from '../../result/typed.ts'
import { usage } from '../errors.ts'
import { fileText } from '../options.ts'
import type { Surroundings } from '../shell.ts'
import type { VerifierKey } from '../../ledger/keys.ts'

interface Options {
  readonly key?: string
}

/** Checks bundles and prints what was found. */
export const verifyFolders = async (
  { out, isJson, fail }: Surroundings,
  folders: readonly string[],
  options: Options,
): Promise<void> => {
  const { verdictLines, verifyEvidence } = await import('../../evidence/verify.ts')
  const key = await keyOf(options)
  const bundles = []
  for (const folder of folders) {
    const verified = await verifyEvidence(folder, key)
    bundles.push({ folder, ...verified })
    if (verified.verdict === 'broken' || verified.verdict === 'unproven') fail()
    if (isJson) continue
    await out.line([folder, 'bold'])
    for (const line of verdictLines(verified)) await out.line([`  ${line}`])
  }
  if (isJson) await out.json({ bundles })
}

const keyOf = async ({ key }: Options): Promise<VerifierKey | undefined> => {
  if (key === undefined) return undefined
  const { parseKey } = await import('../../ledger/keys.ts')
  const parsed = parseKey((existsSync(key) ? await fileText(key) : key).trim())
  if (E.isLeft(parsed)) throw toError(usage(`--key ${parsed.left.message.replace(/^key: /, '')}`))
  if (parsed.right.use !== 'log') throw toError(usage('--key must be the key of a ledger, not of a witness'))
  return parsed.right
}
