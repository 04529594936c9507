import type { Surroundings } from '../shell.ts'
import { knownKey } from './known-key.ts'

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
  const key = await knownKey(options.key)
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
