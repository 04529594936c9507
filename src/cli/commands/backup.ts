import { basename, dirname, join, resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { Command } from 'commander'
import { bytesText } from '../../store/diagnosis.ts'
import { toPromise } from '../../api/promises.ts'
import { backUpKeyFile, restoreFile, type RestoredKeys } from '../../api/schemes.ts'
import { type BackedUp, isError, type RetentionRule } from '../../index.ts'
import { splitSeal } from '../../store/seal/seal-parameter.ts'
import { toError } from '../../result/typed-error.ts'
import { visible } from '../../transfer/formats/visible.ts'
import { usage } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Output } from '../output.ts'
import { asUsage, type CommandContext, type GlobalOptions, type Shell } from '../shell.ts'
import {
  commandSetting,
  compareRules,
  differingLines,
  mostRules,
  originIn,
  type RuleDifferences,
  rulesIn,
} from '../store-records.ts'
import { plural, shellWord } from '../text.ts'
import { holdsIn } from './hold.ts'

interface Options {
  readonly force?: true
  readonly restore?: string
  readonly keys?: string
}

export const addBackup = (program: Command, shell: Shell): void => {
  program
    .command('backup [file]')
    .description('back up an SQLite store to a file, even while it is in use')
    .option('--force', 'overwrite an existing file')
    .option(
      '--restore <file>',
      'replace the store, or its file of keys, with this backup; the former files are kept in a new folder',
    )
    .option('--keys <file>', 'back up the keys of a sealed store (?seal=) to this new file')
    .addHelpText(
      'after',
      `
The backup is one consistent file that opens as a store, large content included.
The file is checked (for damaged pages, not hash chains) and on disk when the
command ends. Copying the database by hand
loses what is in its -wal file, and restoring such a copy next to another -wal
file damages it. --restore checks the backup, refuses while a process has the
store open, moves the store's files (-wal and index, too) into a folder beside
it, and puts the backup in their place. The keys of a sealed store are not in
its backup: --keys copies a file of keys, even while it is in use, and --restore
puts such a copy in the place of the keys in the URL of the store. Keep the two
apart: whoever has both can read everything.

Examples:
  palimpsest backup "backups/$(date +%F).db"
  palimpsest list --store sqlite:backups/monday.db
  palimpsest verify --store sqlite:backups/monday.db
  palimpsest backup --restore backups/monday.db
  palimpsest backup --keys /mnt/keys.db
  palimpsest backup --restore /mnt/keys.db --store 'sqlite:p.db?seal=k.db'`,
    )
    .action(async (file: string | undefined, { restore, keys, force }: Options) => {
      if (keys !== undefined) {
        if (file !== undefined || restore !== undefined || force)
          throw toError(usage('--keys FILE stands alone: it writes a new file, and backs up the keys only'))
        return backingUpKeys(shell.surroundings(), program.opts<GlobalOptions>().store, keys)
      }
      if (restore !== undefined && force)
        throw toError(usage('--restore needs no --force: the former files are kept in a new folder'))
      if (restore !== undefined && file !== undefined)
        throw toError(usage('--restore takes one file, the backup: name the store to restore with --store'))
      if (restore === undefined && file === undefined)
        throw toError(usage('name the file to write, or the backup to restore with --restore FILE'))
      if (file === '-')
        throw toError(usage('a backup is a file, and cannot be written to standard output: name the file'))
      if (restore !== undefined)
        return restoring(
          shell.surroundings(),
          {
            store: program.opts<GlobalOptions>().store,
            named: program.getOptionValueSource('store') === 'cli',
          },
          restore,
        )
      await backingUp(shell, program.opts<GlobalOptions>().store)(file ?? '', { force })
    })
}

const backingUp = (shell: Shell, url: string) =>
  shell.action(
    'existing',
    async ({ store, out, isJson }, file: string, { force }: { readonly force: true | undefined }) => {
      const made = await store.backup(file, { force })
      if (isJson) return out.json(made)
      await out.line([file, 'bold'], [`  ${contentOf(made)}`])
      const keys = keysOf(url)
      if (keys !== undefined)
        await out.line([
          `the keys (${keys}) are not in it${keys.endsWith('/') ? '' : ': palimpsest backup --keys FILE'}; keep them elsewhere`,
          'warning',
        ])
      if (out.isTerminal) await out.text(`to check them: palimpsest verify --store sqlite:${visible(file)}\n`)
    },
  )

/** Returns the path of the keys in the URL of a store; undefined if there is none. */
const keysOf = (url: string): string | undefined => E.getOrElseW(() => undefined)(splitSeal(url))?.keys

const backingUpKeys = async ({ out, isJson }: CommandContext, url: string, file: string): Promise<void> => {
  const keys = keysOf(url)
  if (keys === undefined)
    throw toError(
      usage('--keys needs a store whose URL names its keys, like sqlite:palimpsest.db?seal=keys.db'),
    )
  const made = await toPromise(backUpKeyFile(keys, file)).catch((error: unknown) => {
    throw asUsage(error)
  })
  if (isJson) return out.json(made)
  await out.line([file, 'bold'], [`  ${plural(made.keys, 'key')}, ${bytesText(made.bytes)}, file checked`])
}

const restoring = async (
  { out, isJson, host }: CommandContext,
  { store: url, named }: { readonly store: string; readonly named: boolean },
  file: string,
): Promise<void> => {
  const made = await toPromise(restoreFile(url, file)).catch((error: unknown) => {
    // A file that cannot be restored is refused; the command line has no mistake.
    throw isError(error, 'InvalidInput') && error.path === 'file' ? error : asUsage(error)
  })
  if (isJson) return out.json(made)
  if ('keys' in made) return writeRestoredKeys(out, url, made)
  const [path = '', parameters] = url.slice('sqlite:'.length).split(/\?(.*)/s)
  const on = named ? ` --store ${visible(shellWord(url))}` : ''
  await out.line([path, 'bold'], [`  ${contentOf(made)}, from ${file}`])
  const former = made.former === undefined ? undefined : formerUrl(made.former, parameters)
  if (former !== undefined && isReplaced(file)) {
    await out.line([
      `the files that it replaced are in ${made.former}. To bring what was written there, too:`,
    ])
    await out.line([`  palimpsest copy --from ${shellWord(former)} --to ${shellWord(url)}`])
    return
  }
  const lacking = former === undefined ? undefined : await lackingFrom(host, url, former)
  await out.line([
    `what was written since the backup is not in it${former === undefined ? `: ${repeated}` : ''}`,
    'warning',
  ])
  if (made.former !== undefined) await out.line([`the former files are in ${made.former}`])
  if (former !== undefined && lacking) {
    if (lacking.rules || lacking.held) await writeLacking(out, lacking, { former, url, on })
    else if (lacking.isLocked) await writeLocked(out, lacking, { former, url })
    else
      await out.line([
        `the former store cannot be read, so its later conversations, legal holds and retention rules are unknown: ${repeated}`,
        'warning',
      ])
  }
  const isThere = await hasLedger(url)
  const key = `audit-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.key`
  if (isThere || (former !== undefined && (await hasLedger(former)))) {
    await out.line([
      isThere
        ? `the ledger is as old as the backup: palimpsest audit verify --anchor PLACE${on} finds what is missing. If an anchor has seen more, begin another ledger, or nothing is sealed any more:`
        : 'the former store has a ledger, and this one has none. To begin another:',
    ])
    await out.line([
      `  palimpsest audit init --key ${key} --again ${shellWord(`restored ${basename(file)}`)} --force${on}`,
    ])
    await out.line([`  palimpsest audit seal --key ${key} --anchor PLACE${on}`])
    await out.line([
      'and name this key wherever the store is sealed (audit seal --key, serve and work --seal)',
    ])
  }
  if (out.isTerminal) await out.text(`to check the hash chains: palimpsest verify${on}\n`)
}

const writeRestoredKeys = async (
  out: Output,
  url: string,
  { file, bytes, keys, former }: RestoredKeys,
): Promise<void> => {
  await out.line(
    [keysOf(url) ?? '', 'bold'],
    [`  ${plural(keys, 'key')}, ${bytesText(bytes)}, from ${file}, file checked`],
  )
  await out.line([
    'conversations that were begun after this backup was made have no key in it: palimpsest doctor counts those that stay locked',
    'warning',
  ])
  if (former !== undefined)
    await out.line([`the former keys are in ${former}: delete them once everything can be read`])
}

/** Says that the former store needs its keys, which may have been lost at the same time, and what to do once they are back. */
const writeLocked = async (
  out: Output,
  { problem }: Lacking,
  { former, url }: { readonly former: string; readonly url: string },
): Promise<void> => {
  const from = shellWord(former)
  await out.line([`the former store cannot be read without its keys: ${visible(problem ?? '')}`, 'warning'])
  await out.line([
    'restore its keys (palimpsest backup --restore KEYS). Then bring later conversations, erasures and legal holds:',
  ])
  await out.line([`  palimpsest copy --from ${from} --to ${shellWord(url)}`])
  await out.line([`and set the retention rules that palimpsest retention --store ${from} lists`])
}

/** Legal holds and retention rules that the former store has, and the restored store lacks; undefined if they cannot be read. */
interface Lacking {
  readonly held: readonly string[] | undefined
  readonly rules: RuleDifferences | undefined
  /** Rules of the restored store that had ended in the former one. */
  readonly ended: readonly RetentionRule[]
  /** Reason for which something cannot be read. */
  readonly problem?: string
  /** True if the reason is that keys are missing. */
  readonly isLocked: boolean
}

/** Compares the restored store with the former one, as far as it can be read. */
const lackingFrom = async (host: Host, url: string, former: string): Promise<Lacking> => {
  let failed: unknown
  const orFailed = (error: unknown): undefined => void (failed = error)
  const rules = await rulesIn(host, former).catch(orFailed)
  const held = await heldNotIn(url, former).catch(orFailed)
  const there = await rulesIn(host, url).catch(() => [])
  const ended = rules ? compareRules(there, rules).missing : []
  return {
    held,
    rules: rules && compareRules(rules, there),
    ended,
    ...(failed instanceof Error && { problem: failed.message }),
    isLocked: isError(failed, 'StoreDenied'),
  }
}

const hasLedger = async (url: string): Promise<boolean> =>
  (await originIn(url).catch(() => undefined)) !== undefined

/** Maximum number of held conversations that are named. */
const mostHeld = 20

const heldNotIn = async (url: string, former: string): Promise<readonly string[]> => {
  const held = await holdsIn(former)
  if (held.length === 0) return []
  const there = new Set((await holdsIn(url)).map(({ conversation }) => conversation))
  return held.flatMap(({ conversation }) => (there.has(conversation) ? [] : [conversation]))
}

const writeLacking = async (
  out: Output,
  { held, rules, ended, problem }: Lacking,
  { former, url, on }: { readonly former: string; readonly url: string; readonly on: string },
): Promise<void> => {
  await out.line(['to bring later conversations, erasures and legal holds from them:'])
  await out.line([`  palimpsest copy --from ${shellWord(former)} --to ${shellWord(url)}`])
  if (!held) await out.line([`their legal holds cannot be read: ${visible(problem ?? '')}`, 'warning'])
  else if (held.length > 0)
    await out.line([
      `under a legal hold in the former files, and not in the store: ${held.slice(0, mostHeld).join(', ')}${held.length > mostHeld ? ' …' : ''}`,
      'warning',
    ])
  if (ended.length > 0) {
    await out.line([
      'retention rules that had ended since the backup, and are in the store again: serve and work apply them when they start. To end them:',
      'warning',
    ])
    for (const { prefix } of ended.slice(0, mostRules))
      await out.line([`  palimpsest retention --end ${visible(shellWord(prefix))}${on}`])
    if (ended.length > mostRules) await out.line([`  … palimpsest retention${on} lists the others`])
  }
  if (!rules) return out.line([`their retention rules cannot be read: ${visible(problem ?? '')}`, 'warning'])
  const { missing, differing } = rules
  for (const line of differingLines(differing, { from: 'former files', to: 'store', on }))
    await out.line([visible(line), 'warning'])
  if (missing.length === 0) return
  await out.line(['retention rules in the former files, and not in the store. To set them:', 'warning'])
  for (const rule of missing.slice(0, mostRules)) await out.line([`  ${visible(commandSetting(rule))}${on}`])
  if (missing.length > mostRules)
    await out.line([`  … palimpsest retention --store ${shellWord(former)} lists the others`])
}

const repeated =
  'repeat later erasures (docs/erasure.md), retention rules (palimpsest retention; those that had ended are there again) and legal holds (palimpsest hold)'

/** Reports whether a file is in a folder of former files, so that restoring it undoes a restore. */
const isReplaced = (file: string): boolean =>
  /\.replaced-\d{4}-\d\d-\d\dT[\d-]+Z$/.test(basename(dirname(resolve(file))))

/** Returns the URL of the store in the folder that has its former files, with the parameters of the restored store. */
const formerUrl = (folder: string, parameters: string | undefined): string => {
  const file = join(folder, basename(folder).replace(/\.replaced-[^.]*$/, ''))
  const path = file.replaceAll('%', '%25').replaceAll('?', '%3F')
  return `sqlite:${path}${parameters === undefined ? '' : `?${parameters}`}`
}

const contentOf = ({ streams, events, bytes }: BackedUp): string =>
  `${plural(streams, 'stream')}, ${plural(events, 'event')}, ${bytesText(bytes)}, file checked, hash chains not`
