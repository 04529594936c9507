import type { Command } from 'commander'
import { bytesText } from '../../store/diagnosis.ts'
import type { BackupOptions } from '../../index.ts'
import { visible } from '../../transfer/formats/visible.ts'
import type { Shell } from '../shell.ts'
import { plural } from '../text.ts'

export const addBackup = (program: Command, shell: Shell): void => {
  program
    .command('backup <file>')
    .description('back up an SQLite store to a file, even while it is in use')
    .option('--force', 'overwrite an existing file')
    .addHelpText(
      'after',
      `
The backup is one consistent file that opens as a store, large content included.
The file is checked (for damaged pages, not hash chains) and on disk when the
command ends. Copying the database by hand
loses what is in its -wal file, and restoring such a copy next to another -wal
file damages it.

Examples:
  palimpsest backup "backups/$(date +%F).db"
  palimpsest list --store sqlite:backups/monday.db`,
    )
    .action(
      shell.action('existing', async ({ store, out, isJson }, file: string, options: BackupOptions) => {
        const made = await store.backup(file, options)
        if (isJson) return out.json(made)
        const { streams, events, bytes } = made
        await out.line(
          [file, 'bold'],
          [
            `  ${plural(streams, 'stream')}, ${plural(events, 'event')}, ${bytesText(bytes)}, file checked, hash chains not`,
          ],
        )
        if (out.isTerminal)
          await out.text(`to check them: palimpsest verify --store sqlite:${visible(file)}\n`)
      }),
    )
}
