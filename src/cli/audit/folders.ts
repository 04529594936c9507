import type { Surroundings } from '../shell.ts'
import { knownKey, witnessKeys } from './known-key.ts'

interface Options {
  readonly key?: string
  readonly witness?: readonly string[]
}

/** Checks bundles and prints what was found. */
export const verifyFolders = async (
  { out, isJson, fail }: Surroundings,
  folders: readonly string[],
  options: Options,
): Promise<void> => {
  const [{ verdictLines, verifyEvidence }, { cosignedBy }] = await Promise.all([
    import('../../evidence/verify.ts'),
    import('./cosigned.ts'),
  ])
  const key = await knownKey(options.key)
  const witnesses = await witnessKeys(options.witness)
  const bundles = []
  for (const folder of folders) {
    const verified = await verifyEvidence(folder, key)
    const cosigned = await cosignedBy(folder, witnesses)
    bundles.push({ folder, ...verified, ...(witnesses.length > 0 && { cosigned }) })
    const isSigned = cosigned.every(({ time }) => time !== undefined)
    if (verified.verdict === 'broken' || verified.verdict === 'unproven' || !isSigned) fail()
    if (isJson) continue
    await out.line([folder, 'bold'])
    for (const line of verdictLines(verified)) await out.line([`  ${line}`])
    for (const { witness, time } of cosigned)
      await out.line([
        time === undefined ? `  NOT COSIGNED by ${witness}` : `  cosigned by ${witness} at ${time}`,
      ])
  }
  if (isJson) await out.json({ bundles })
}
