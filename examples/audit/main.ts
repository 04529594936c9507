// npm run demo:audit [-- --help]: tampers with a conversation in seven ways, and shows what notices each.
import { cp, mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askedOf, runDemo, say } from '../demo/demo.ts'
import { auditOf, bundleLines } from './auditor.ts'
import { type Made, make } from './made.ts'
import { type Tampering, tamperings } from './tamperings.ts'
import { beginningLines, caseLines, caughtBy, endLines } from './words.ts'

const usage = `npm run demo:audit [-- OPTIONS]

A conversation is sealed in a signed ledger whose checkpoints are kept elsewhere.
Then somebody who can write to the database tampers with copies of it, in seven
ways. An auditor, who has the verifier key and the checkpoints, looks at each.
Exit code 0 if all seven are noticed, and nothing where nothing was done.

  --folder FOLDER  where it is played: a folder that is new or empty
                   (a new one for temporary files)
  --help           print this
`

const demo = async ({ folder: given }: { readonly folder: string | undefined }): Promise<void> => {
  const folder = given ?? (await mkdtemp(join(tmpdir(), 'palimpsest-audit-')))
  await mkdir(folder, { recursive: true })
  const made = await make(folder)
  const untouched = await auditOf(made.store, made)
  const bundle = await bundleLines(made)
  say(...beginningLines(made, untouched.length, bundle))
  const isQuiet = untouched.length === 0 && bundle.at(-1) === 'PROVEN'
  let caught = 0
  for (const [n, tampering] of tamperings.entries()) if (await play(made, n + 1, tampering)) caught++
  say(...endLines(made, caught, tamperings.length))
  if (!isQuiet || caught < tamperings.length) process.exitCode = 1
}

/** @returns whether it was noticed by what should notice it */
const play = async (made: Made, number: number, tampering: Tampering): Promise<boolean> => {
  const file = join(made.folder, `tampered-${number}.db`)
  await cp(made.store, file)
  await tampering.act(file, made)
  const found = await auditOf(file, made)
  say(...caseLines(number, tampering, found))
  return caughtBy(tampering, found) !== undefined
}

await runDemo(
  askedOf(process.argv.slice(2), usage, ['folder'] as const, ({ folder }) => ({ folder })),
  demo,
)
