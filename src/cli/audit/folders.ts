import type { Surroundings } from '../shell.ts'
import { knownKey, witnessKeys } from './known-key.ts'

interface Options {
  readonly key?: string
  readonly witness?: readonly string[]
  readonly tsa?: readonly string[]
}

/** Checks bundles and prints what was found. */
export const verifyFolders = async (
  { out, isJson, fail }: Surroundings,
  folders: readonly string[],
  options: Options,
): Promise<void> => {
  const [{ verdictLines, verifyEvidence }, { cosignedBy }, { timestampedBy }] = await Promise.all([
    import('../../evidence/verify.ts'),
    import('./cosigned.ts'),
    import('./timestamped.ts'),
  ])
  const key = await knownKey(options.key)
  const witnesses = await witnessKeys(options.witness)
  const bundles = []
  for (const folder of folders) {
    const verified = await verifyEvidence(folder, key)
    const cosigned = await cosignedBy(folder, witnesses)
    const timestamped = await timestampedBy(folder, options.tsa ?? [])
    bundles.push({
      folder,
      ...verified,
      ...(cosigned.length > 0 && { cosigned }),
      ...(timestamped.length > 0 && { timestamped }),
    })
    const isSigned = [...cosigned, ...timestamped].every(({ time }) => time !== undefined)
    if (verified.verdict === 'unchecked') fail(2)
    else if (verified.verdict === 'broken' || verified.verdict === 'unproven' || !isSigned) fail()
    if (isJson) continue
    await out.line([folder, 'bold'])
    for (const line of verdictLines(verified)) await out.line([`  ${line}`])
    for (const { witness, time } of cosigned)
      await out.line([
        time === undefined ? `  NOT COSIGNED by ${witness}` : `  cosigned by ${witness} at ${time}`,
      ])
    for (const { tsa, authority, time, problem } of timestamped)
      await out.line([
        time === undefined
          ? `  NO TIMESTAMP that ${tsa} vouches for: ${problem}`
          : `  timestamped by ${authority} at ${time}`,
      ])
  }
  if (isJson) await out.json({ bundles })
}
