import { unlink } from 'node:fs/promises'
import type { Command } from 'commander'
import { showFolder, verifyFolders } from '../audit/folders.ts'
import { openAnchors, recordedFiles } from '../audit/anchors.ts'
import { readVerifierKey } from '../audit/known-key.ts'
import { writeDone, writeProblem, writeSealed, writeStatus } from '../audit/write-output.ts'
import { type AuditSummary, type AuditProblem, isError, openStore, type Store } from '../../index.ts'
import { visible } from '../../transfer/formats/visible.ts'
import type { Signer } from '../../audit/ledger/keys.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import type { Shell } from '../shell.ts'
import { addAuditExport } from './audit-export.ts'
import { addAuditExports } from './audit-exports.ts'

const keyOption = ['--key <file>', 'file of the signing key', 'palimpsest-audit.key'] as const
const anchorOption = [
  '--anchor <places...>',
  'where to keep checkpoints: a file, a folder/, git:FOLDER, the URL of another store, URL#KEY of a witness, or tsa:URL#CERTIFICATE of a timestamp authority',
] as const

interface Given {
  readonly key: string
  readonly anchor?: readonly string[]
}

export const addAudit = (program: Command, shell: Shell): void => {
  const audit = program
    .command('audit')
    .description('prove to others that conversations are unchanged')
    .addHelpText(
      'after',
      `
Examples:
  palimpsest audit init
  palimpsest audit seal --anchor /mnt/elsewhere/
  palimpsest audit verify --anchor /mnt/elsewhere/
  palimpsest audit export task-42 --out evidence`,
    )
  for (const add of [
    addInit,
    addKey,
    addSeal,
    addStatus,
    addVerifyAll,
    addShowBundle,
    addRotateKey,
    addAuditExport,
    addAuditExports,
  ])
    add(audit, shell)
}

/**
 * Creates a key file and runs `work` with its key. If the work fails, the file is deleted, except on `OutcomeUnknown`, because the
 * ledger may already use the key. Once the work has succeeded, the file is kept even if the output cannot be written.
 */
const withNewKey = async <A>(file: string, work: (signer: Signer) => Promise<A>): Promise<A> => {
  const { newKeyFile } = await import('../../audit.ts')
  const signer = await newKeyFile(file)
  try {
    return await work(signer)
  } catch (error) {
    if (!isError(error, 'OutcomeUnknown')) await unlink(file)
    throw error
  }
}

interface InitOptions extends Given {
  readonly origin?: string
  readonly again?: string
  readonly force?: true
}

const addInit = (audit: Command, shell: Shell): void => {
  audit
    .command('init')
    .description('create a key and the ledger that it signs')
    .option(...keyOption)
    .option('--origin <name>', 'permanent name of the ledger, such as example.com/support')
    .option('--again <reason>', 'start a new ledger; use only if the key or entries are permanently lost')
    .option('--force', 'with --again: replace a ledger although it is intact')
    .addHelpText(
      'after',
      `
Keep a copy of the key file away from the store. Give the printed verifier key
to everyone who is to check the ledger: it is not secret.

Examples:
  palimpsest audit init --origin example.com/support
  palimpsest audit init --key audit-2026-11-28.key --again "the key was lost" --force`,
    )
    .action(
      shell.action(
        'created',
        async ({ store, out, isJson, host }, { key: file, origin, again, force }: InitOptions) => {
          if (force && again === undefined) throw toError(usage('--force needs --again, with the reason'))
          if (again === undefined) await checkNoLedger(store)
          const isNew = await isMissing(store)
          const made = await withNewKey(file, (signer) => store.audit.init({ signer, origin, again, force }))
          if (isJson) return out.json({ ...made, file })
          await out.text(`${visible(made.key)}\n`)
          if (isNew) host.stderr.write(`note: there was no store ${visible(store.url)}: created a new one\n`)
          await out.aside([`verifies ${made.origin}; the signing key is in ${file}`, 'dim'])
        },
      ),
    )
}

/** Reports whether the file of a store does not exist, or has no store yet. */
const isMissing = async ({ url }: Store): Promise<boolean> => {
  if (!url.startsWith('sqlite:')) return false
  try {
    await (await openStore(url, { create: false })).close()
    return false
  } catch (error) {
    return isError(error, 'StoreNotFound')
  }
}

/** Throws `LedgerExists`, with the verifier key, if the store has a ledger that can be read. */
const checkNoLedger = async ({ audit }: Store): Promise<void> => {
  const [{ ledgerExists }, ledger] = await Promise.all([
    import('../../audit/ledger/errors.ts'),
    audit.status().catch((error: unknown) => {
      if (!isError(error, 'LedgerNotFound') && !isError(error, 'LedgerDamaged')) throw error
    }),
  ])
  if (ledger) throw toError(ledgerExists(ledger.origin, ledger.key))
}

const addKey = (audit: Command, shell: Shell): void => {
  audit
    .command('key')
    .description("print the ledger's current verifier key again")
    .addHelpText('after', '\nExamples:\n  palimpsest audit key > ledger.pub')
    .action(
      shell.action('existing', async ({ store, out, isJson }) => {
        const { origin, key } = await store.audit.status()
        await (isJson ? out.json({ origin, key }) : out.text(`${visible(key)}\n`))
      }),
    )
}

/** Reads the signing key from a file. Throws `LedgerNotFound` if there is no key because the store has no ledger yet. */
const signerOf = async (store: Store, file: string): Promise<Signer> => {
  const { keyFile } = await import('../../audit.ts')
  return keyFile(file).catch(async (error: unknown) => {
    await store.audit.status()
    throw error
  })
}

interface SealFlags extends Given {
  readonly renewAnchor?: true
}

const addSeal = (audit: Command, shell: Shell): void => {
  audit
    .command('seal')
    .description('seal every conversation written to since its last seal')
    .option(...keyOption)
    .option(...anchorOption)
    .option('--renew-anchor', 'also give checkpoints to an anchor that has lost those it was given')
    .addHelpText(
      'after',
      `
Someone with the database cannot rewrite sealed events unnoticed; once a
checkpoint is kept elsewhere, nor can someone who also has the key. Exit code
1 if an anchor failed; sealed events stay sealed. Nothing is sealed if an
anchor has lost checkpoints that it was given, as when its disk is not mounted.

Examples:
  palimpsest audit seal --anchor /mnt/elsewhere/
  palimpsest audit seal --anchor git:../checkpoints esdb://audit.example:2113
  palimpsest audit seal --anchor tsa:https://tsa.example/tsr#ca.pem`,
    )
    .action(
      shell.action(
        'existing',
        async ({ store, out, isJson, fail }, { key, anchor, renewAnchor }: SealFlags) => {
          const signer = await signerOf(store, key)
          const { anchors, newFolders, close } = await openAnchors(anchor)
          try {
            const sealed = await store.audit.seal({ signer, anchors, renewAnchors: renewAnchor })
            if (sealed.anchored.some(({ error }) => error) || sealed.unsealable.length > 0) fail()
            await (isJson ? out.json(sealed) : writeSealed(out, sealed, { anchors, newFolders }))
          } finally {
            await close()
          }
        },
      ),
    )
}

interface StatusFlags {
  readonly calls?: true
  readonly anchor?: readonly string[]
}

const addStatus = (audit: Command, shell: Shell): void => {
  audit
    .command('status')
    .description('show the state of the ledger, and which events could be rewritten unnoticed')
    .option('--calls', 'also count replies without a receipt; this reads every event')
    .option(anchorOption[0], 'where checkpoints are kept: says if they prevent sealing')
    .addHelpText(
      'after',
      `
Compares the ledger with the anchors that are named, otherwise with those in the
store that are files here. Exit code 1 if sealing is blocked, for example because
an anchor has seen entries that a restored backup lacks.

Examples:
  palimpsest audit status
  palimpsest audit status --anchor /mnt/elsewhere/
  palimpsest audit status --calls --json`,
    )
    .action(
      shell.action('existing', async ({ store, out, isJson, fail }, { calls, anchor }: StatusFlags) => {
        const { anchors, close } = await openAnchors(anchor ?? (await recordedFiles(store)))
        try {
          const status = await store.audit.status({ calls, anchors })
          if (status.blocked !== undefined) fail()
          await (isJson ? out.json(status) : writeStatus(out, status))
        } finally {
          await close()
        }
      }),
    )
}

interface VerifyOptions {
  readonly key?: string
  readonly since?: string
  readonly witness?: readonly string[]
  readonly tsa?: readonly string[]
  readonly anchor?: readonly string[]
}

const addVerifyAll = (audit: Command, shell: Shell): void => {
  audit
    .command('verify [folders...]')
    .description('check everything against the ledger, and the ledger against anchors')
    .option('--key <key>', 'verifier key that you obtained elsewhere, or a file with it')
    .option(anchorOption[0], 'where checkpoints are kept: the ledger is compared with these')
    .option('--witness <keys...>', 'with folders: witnesses that must have signed the checkpoint')
    .option('--tsa <files...>', 'with folders: certificates that must verify a timestamp of the checkpoint')
    .option(
      '--since <checkpoint>',
      'check only events written or sealed since the audit that printed this checkpoint',
    )
    .addHelpText(
      'after',
      `
Reads everything once: every entry of the ledger and the event that it names,
what anchors hold, every conversation with its forks and views, and the requests
of all receipts. Prints a line for each problem; exit code 1 if there is one, or
if nothing is sealed, because then nothing is proven.
Prints a checkpoint at the end: --since continues from it, but cannot detect
changes to earlier events, so omit it now and then.

With folders that \`audit export\` wrote, checks these and needs no store: prints
the verdict of the verify.py in them, which of the given witnesses signed the
checkpoint, and the time of its timestamp. Exit code 1 if a folder is broken,
not proven or not signed; 2 if it cannot be checked, for example because it
does not exist or the key is that of another ledger.

Examples:
  palimpsest audit verify --anchor /mnt/elsewhere/
  palimpsest audit verify --since 12@345-7d1b6a0e
  palimpsest audit verify --key example.com/support+1a2b3c4d+AZ…
  palimpsest audit verify evidence --key example.com/support+1a2b3c4d+AZ…`,
    )
    .action((folders: readonly string[], options: VerifyOptions) => {
      if (folders.length === 0 && options.witness) throw toError(usage('--witness is for folders'))
      if (folders.length === 0 && options.tsa) throw toError(usage('--tsa is for folders'))
      if (folders.length > 0 && options.since !== undefined)
        throw toError(usage('--since is for the store, not for folders'))
      if (folders.length > 0 && options.anchor !== undefined)
        throw toError(usage('--anchor is for the store, not for folders'))
      return folders.length > 0
        ? verifyFolders(shell.surroundings(), folders, options)
        : verifyAll(shell)(options)
    })
}

const verifyAll = (shell: Shell) =>
  shell.action(
    'existing',
    async ({ store, out, isJson, fail }, { key: given, anchor, since }: VerifyOptions) => {
      const known = await readVerifierKey(given)
      const key = known && (await import('../../audit/ledger/keys.ts')).keyText(known)
      const { anchors, close } = await openAnchors(anchor)
      const problems: AuditProblem[] = []
      try {
        for await (const finding of store.audit.verify({ anchors, key, since })) {
          if (finding.type === 'problem') {
            problems.push(finding)
            fail()
            if (!isJson) await writeProblem(out, finding)
          } else {
            if (finding.entries === 0) fail()
            await (isJson ? out.json(jsonOf(finding, problems)) : writeDone(out, finding))
          }
        }
      } finally {
        await close()
      }
    },
  )

const jsonOf = ({ type: _type, ...counts }: AuditSummary, problems: readonly AuditProblem[]): object => ({
  ok: problems.length === 0 && counts.entries > 0,
  ...counts,
  problems,
})

const addShowBundle = (audit: Command, shell: Shell): void => {
  audit
    .command('show <folder>')
    .description('print the content of a bundle as a transcript')
    .option('--key <key>', "the ledger's verifier key, obtained elsewhere, or a file with it")
    .addHelpText(
      'after',
      `
Checks a folder that \`audit export\` wrote, as \`audit verify\` does, and prints
the events that the ledger proves, then what turns recorded beside them, such as
who decided on a call and why, and then the verdict. Without a key, nothing is
proven or printed. The verify.py in the folder does the same with --print.

Examples:
  palimpsest audit show evidence --key example.com/support+1a2b3c4d+AZ…`,
    )
    .action((folder: string, options: { readonly key?: string }) =>
      showFolder(shell.surroundings(), folder, options),
    )
}

const addRotateKey = (audit: Command, shell: Shell): void => {
  audit
    .command('rotate-key <file>')
    .description('create a new key, which signs from now on')
    .option('--key <file>', 'file of the current key', keyOption[2])
    .addHelpText(
      'after',
      `
The current key signs the new one, so either key is enough to verify everything.
Keep the current key or destroy it: it no longer signs anything.

Examples:
  palimpsest audit rotate-key 2027.key`,
    )
    .action(
      shell.action('existing', async ({ store, out, isJson }, file: string, { key }: Given) => {
        const signer = await signerOf(store, key)
        const made = await withNewKey(file, (to) => store.audit.rotateKey({ signer, to }))
        if (isJson) return out.json({ ...made, file })
        await out.text(`${visible(made.key)}\n`)
        await out.aside([`from now on, sign with --key ${file} (serve and work: --seal ${file})`, 'dim'])
      }),
    )
}
