import type { Command } from 'commander'
import type { Shell } from '../shell.ts'
import { agoInHours } from '../durations.ts'
import { plural } from '../text.ts'
import { writeTable } from '../views/table.ts'

interface Options {
  readonly dryRun?: boolean
  readonly olderThan?: Date
}

export const addGc = (program: Command, shell: Shell): void => {
  program
    .command('gc')
    .description('remove large content that no event refers to')
    .option('--dry-run', 'only list the content to remove')
    .option(
      '--older-than <duration>',
      'keep content newer than this: 2d, 36h, or hours (default: 24h)',
      agoInHours,
    )
    .addHelpText(
      'after',
      `
Content larger than 64 KiB is stored once, outside its event. An interrupted
append may leave content that no event refers to. With --older-than below 24h,
make sure that nobody is writing: the event that refers to new content may not
be written yet.

Examples:
  palimpsest gc --dry-run
  palimpsest gc --older-than 2d`,
    )
    .action(
      shell.action('existing', async ({ store, out, isJson }, { dryRun = false, olderThan }: Options) => {
        const collected = await store.gc({ dryRun, olderThan })
        if (isJson) return out.json(collected)
        const { blobs, bytes, unreferenced, removed } = collected
        if (unreferenced.length > 0)
          await writeTable(
            out,
            ['sha256', 'size', 'last written'],
            unreferenced.map((blob) => [blob.sha256, sizeText(blob.bytes), blob.time.toISOString()]),
            [1],
          )
        const unused = unreferenced.reduce((sum, blob) => sum + blob.bytes, 0)
        await out.line(
          [`${dryRun ? unreferenced.length : removed} ${dryRun ? 'to remove' : 'removed'}`, 'bold'],
          [` (${sizeText(unused)}) of ${plural(blobs, 'large content')} (${sizeText(bytes)})`],
        )
      }),
    )
}

const sizeText = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
