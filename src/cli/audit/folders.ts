import type { EvidenceVerification, ProvenEvents } from '../../audit/evidence/verify.ts'
import { visible } from '../../transfer/formats/visible.ts'
import type { CommandContext } from '../shell.ts'
import { readVerifierKey, witnessKeys } from './known-key.ts'

interface Options {
  readonly key?: string
  readonly witness?: readonly string[]
  readonly tsa?: readonly string[]
}

const judge = ({ verdict }: EvidenceVerification, fail: CommandContext['fail']): void => {
  if (verdict === 'unchecked') fail(2)
  else if (verdict === 'broken' || verdict === 'unproven') fail()
}

/** Checks a bundle and prints a transcript of the events that the ledger proves, followed by the verdict. */
export const showFolder = async (
  { out, isJson, fail }: CommandContext,
  folder: string,
  options: Pick<Options, 'key'>,
): Promise<void> => {
  const [{ verdictOfError, verdictLines, verifyEvidence }, { transcriptOf }] = await Promise.all([
    import('../../audit/evidence/verify.ts'),
    import('../../audit/evidence/transcript.ts'),
  ])
  let proven: ProvenEvents | undefined
  const checked = await verifyEvidence(folder, await readVerifierKey(options.key), (told) => (proven = told))
  const { found } = checked
  let verified = checked
  const transcript: string[] = []
  if (!isJson) {
    await out.line([folder, 'bold'])
    for (const line of found) await out.text(`  ${visible(line)}\n`)
  }
  try {
    if (proven)
      for await (const line of transcriptOf(folder, proven))
        if (isJson) transcript.push(line)
        else await out.text(`  ${line}\n`)
  } catch (error) {
    verified = { ...verdictOfError(error), found }
  }
  judge(verified, fail)
  if (isJson) return out.json({ folder, ...verified, transcript })
  const [verdict = ''] = verdictLines({ ...verified, found: [] })
  await out.text(`  ${visible(verdict)}\n`)
}

export const verifyFolders = async (
  { out, isJson, fail }: CommandContext,
  folders: readonly string[],
  options: Options,
): Promise<void> => {
  const [{ verdictLines, verifyEvidence }, { witnessStatuses }, { timestampStatuses }] = await Promise.all([
    import('../../audit/evidence/verify.ts'),
    import('./witness-status.ts'),
    import('./timestamp-status.ts'),
  ])
  const key = await readVerifierKey(options.key)
  const witnesses = await witnessKeys(options.witness)
  const bundles = []
  for (const folder of folders) {
    const verified = await verifyEvidence(folder, key)
    const cosigned = await witnessStatuses(folder, witnesses)
    const timestamped = await timestampStatuses(folder, options.tsa ?? [])
    bundles.push({
      folder,
      ...verified,
      ...(cosigned.length > 0 && { cosigned }),
      ...(timestamped.length > 0 && { timestamped }),
    })
    const isSigned = [...cosigned, ...timestamped].every(({ time }) => time !== undefined)
    judge(verified, fail)
    if (!isSigned) fail()
    if (isJson) continue
    await out.line([folder, 'bold'])
    // Users copy keys, so nothing is cut.
    for (const line of verdictLines(verified)) await out.text(`  ${visible(line)}\n`)
    for (const { witness, time } of cosigned)
      await out.line([
        time === undefined ? `  NOT COSIGNED by ${witness}` : `  cosigned by ${witness} at ${time}`,
      ])
    for (const { tsa, authority, time, problem } of timestamped)
      await out.line([
        time === undefined
          ? `  NO TIMESTAMP verified with ${tsa}: ${problem}`
          : `  timestamped by ${authority} at ${time}`,
      ])
  }
  if (isJson) await out.json({ bundles })
}
