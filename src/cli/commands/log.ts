import type { Command } from 'commander'
import type { Shell } from '../shell.ts'
import { legend, pathLines, timelineLines } from '../views/timeline.ts'

interface Options {
  readonly all?: boolean
  readonly time?: boolean
}

export const addLog = (program: Command, shell: Shell): void => {
  program
    .command('log <id>')
    .description('show the events on the current path')
    .option('--all', 'include abandoned branches and rewinds, with the graph')
    .option('--time', 'show the time of each event (UTC)')
    .addHelpText('after', '\nExamples:\n  palimpsest log task-42\n  palimpsest log task-42 --all | less')
    .action(
      shell.look(async ({ store, out, isJson }, id: string, { all = false, time = false }: Options) => {
        const entries = await store.conversation(id).timeline()
        if (isJson)
          return out.json({ conversation: id, entries: entries.filter(({ onPath }) => all || onPath) })
        for (const line of all ? timelineLines(entries, time) : pathLines(entries, time))
          await out.parts(line)
        if (!all) return
        await out.aside()
        for (const line of legend) await out.aside([line, 'dim'])
      }),
    )
}
