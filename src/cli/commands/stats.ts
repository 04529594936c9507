import type { Command } from 'commander'
import { type Stats, statsOf } from '../../projections/stats.ts'
import { logOf } from '../conversation.ts'
import type { Shell } from '../shell.ts'
import { plural, tokensText } from '../text.ts'
import { writeTable } from '../views/table.ts'

export const addStats = (program: Command, shell: Shell): void => {
  program
    .command('stats <id>')
    .description('the conversation in numbers')
    .action(
      shell.look(async ({ store, out, isJson }, id: string) => {
        const stats = statsOf(await logOf(store.conversation(id)))
        if (isJson) return out.json({ conversation: id, ...stats })
        await writeTable(out, ['what', 'how much'], rowsOf(stats))
      }),
    )
}

const rowsOf = (stats: Stats): readonly (readonly string[])[] => {
  const { messages, tokens, tools } = stats
  const total = messages.user + messages.assistant + messages.system
  const events = Object.entries(stats.events).map(([type, count]) => `${count} ${type}`)
  return [
    ['from', stats.started],
    ['to', stats.updated],
    ['events', events.join(', ')],
    ['branches', String(stats.branches)],
    [
      'messages',
      `${total}: ${messages.user} user, ${messages.assistant} assistant, ${messages.system} system`,
    ],
    ['of these', `${stats.shown} shown, ${stats.hidden} hidden, ${stats.abandoned} abandoned`],
    ['stored', `about ${tokensText(tokens.stored)}`],
    ['the model sees', `about ${tokensText(tokens.shown)}`],
    ...tools.map(({ name, calls, errors }) => [
      `tool ${name}`,
      `${plural(calls, 'call')}${errors > 0 ? `, ${plural(errors, 'error')}` : ''}`,
    ]),
  ]
}
