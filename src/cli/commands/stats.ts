import type { Command } from 'commander'
import { type HistoryTokens, historyTokens } from '../../agent/context/tokens/history.ts'
import { effective } from '../../projections/effective.ts'
import { type Stats, statsOf } from '../../projections/stats.ts'
import { eventsIn } from '../conversation.ts'
import type { Shell } from '../shell.ts'
import { plural, thousands, tokensText } from '../text.ts'
import { type ContextTokens, contextTokens, contextTokensText } from '../views/context-tokens.ts'
import { writeTable } from '../views/table.ts'

export const addStats = (program: Command, shell: Shell): void => {
  program
    .command('stats <id>')
    .description('count messages, tokens and tool calls')
    .option('--items', 'list the tokens of every item in the full history')
    .addHelpText('after', '\nExamples:\n  palimpsest stats task-42\n  palimpsest stats task-42 --items')
    .action(
      shell.look(async ({ store, out, isJson }, id: string, { items }: { readonly items?: boolean }) => {
        const log = await eventsIn(store.conversation(id))
        const stats = statsOf(log)
        const counted = historyTokens(log)
        if (isJson) return out.json({ conversation: id, ...stats, tokens: { ...stats.tokens, ...counted } })
        if (items) await writeTable(out, ['position', 'tokens', 'kind', 'status'], itemRows(counted), [0, 1])
        else await writeTable(out, ['figure', 'value'], rowsOf(stats, counted, contextTokens(effective(log))))
      }),
    )
}

const itemRows = ({ items }: HistoryTokens): readonly (readonly string[])[] =>
  items.map(({ position, tokens, kind, status }) => [String(position), String(tokens), kind, status])

const rowsOf = (
  stats: Stats,
  counted: HistoryTokens,
  seen: ContextTokens,
): readonly (readonly string[])[] => {
  const { messages, tokens, tools } = stats
  const { prompt, condensed } = counted
  const total = messages.user + messages.assistant + messages.system
  const events = Object.entries(stats.events).map(([type, count]) => `${count} ${type}`)
  return [
    ['first event', stats.started],
    ['last event', stats.updated],
    ['events', events.join(', ')],
    ['branches', String(stats.branches)],
    [
      'messages',
      `${total}: ${messages.user} user, ${messages.assistant} assistant, ${messages.system} system`,
    ],
    ['of these', `${stats.shown} shown, ${stats.hidden} hidden, ${stats.abandoned} abandoned`],
    ['stored', `about ${tokensText(tokens.stored)}`],
    [
      'the model sees',
      contextTokensText(seen) +
        (prompt > 0 && seen.unrecorded === undefined
          ? `, of which system prompt and tools ${thousands(prompt)}`
          : ''),
    ],
    ...condensed.map(({ marker, before, after }) => [
      `condensed at ${marker}`,
      `from about ${tokensText(before)} to ${thousands(after)}${counted.anchor === undefined ? '' : ", by the API's counts"}`,
    ]),
    ...tools.map(({ name, calls, errors }) => [
      `tool ${name}`,
      `${plural(calls, 'call')}${errors > 0 ? `, ${plural(errors, 'error')}` : ''}`,
    ]),
  ]
}
