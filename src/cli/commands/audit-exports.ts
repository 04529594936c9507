import type { Command } from 'commander'
import type { RecordedExport } from '../../index.ts'
import type { Shell } from '../shell.ts'
import { writeTable } from '../views/table.ts'

export const addAuditExports = (audit: Command, shell: Shell): void => {
  audit
    .command('exports')
    .description('list the recorded exports, newest first')
    .addHelpText('after', '\nExamples:\n  palimpsest audit exports\n  palimpsest audit exports --json')
    .action(
      shell.action('existing', async ({ store, out, isJson }) => {
        const exports: RecordedExport[] = []
        for await (const one of store.audit.exports()) exports.push(one)
        if (isJson) return out.json({ exports })
        if (exports.length === 0) return out.aside(['no export was recorded', 'dim'])
        await writeTable(out, [], exports.map(rowOf))
      }),
    )
}

const rowOf = ({ time, by, format, conversations, withheld = [], reason }: RecordedExport) => [
  time,
  by,
  format,
  conversations.join(' '),
  withheld.length > 0 ? `without ${withheld.join(', ')}` : '',
  reason ?? '',
]
