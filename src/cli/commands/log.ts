import { type Command, Option } from 'commander'
import type { RecordedTurnFact } from '../../events/turn-events.ts'
import type { Conversation } from '../../index.ts'
import { newName, positionOrStart, several } from '../options.ts'
import type { Shell } from '../shell.ts'
import { contextTokens, contextTokensText } from '../views/context-tokens.ts'
import { isNote } from '../views/notes.ts'
import { legend, pathLines, timelineLines } from '../views/timeline.ts'

interface Options {
  readonly at?: number
  readonly last?: number
  readonly all?: boolean
  readonly time?: boolean
  readonly notes?: boolean
  readonly turns?: boolean
}

export const addLog = (program: Command, shell: Shell): void => {
  program
    .command('log <id>')
    .description('show the events on the current path')
    .option('--at <position>', 'as of this position (default: now)', positionOrStart)
    .option('-n, --last <n>', 'only the last n events', several)
    .addOption(newName(new Option('--tail <n>'), 'last').argParser(several).hideHelp())
    .option('--all', 'include abandoned branches and rewinds, with the graph')
    .option('--time', 'show the time of each event (UTC)')
    .option('--notes', 'include notes and links, each below the event that was the last when it was added')
    .option('--turns', 'include the records of turns: who approved or cancelled, claims, waits')
    .addHelpText('after', '\nExamples:\n  palimpsest log task-42\n  palimpsest log task-42 --all | less')
    .action(
      shell.look(
        async (
          { store, out, isJson },
          id: string,
          { at, last = Infinity, all = false, time = false, notes, turns }: Options,
        ) => {
          const chat = store.conversation(id)
          const timeline = await chat.timeline({ at })
          // The events from the first shown one on, so that the path still says what was rewound away between them.
          const from = timeline.filter(({ onPath }) => all || onPath).at(-last)?.event.position ?? 0
          const entries = timeline.filter(({ event }) => event.position >= from)
          const noted = notes
            ? (await chat.full({ at, notes: true })).filter(isNote).filter(({ position }) => position >= from)
            : []
          const facts = turns ? await turnFactsOf(chat, from, at) : []
          const counted = isJson || out.isTerminal ? contextTokens(await chat.context({ at })) : undefined
          if (isJson) {
            const shown = entries.filter(({ onPath }) => all || onPath)
            return out.json({
              conversation: id,
              ...counted,
              entries: shown,
              ...(notes && { notes: noted }),
              ...(turns && { turns: facts }),
            })
          }
          const view = { withTime: time, notes: noted, turns: facts, areWorkersShort: out.isTerminal }
          for (const line of all ? timelineLines(entries, view) : pathLines(entries, view))
            await out.parts(line)
          if (counted) await out.aside([contextTokensText(counted), 'dim'])
          if (!all) return
          await out.aside()
          for (const line of legend) await out.aside([line, 'dim'])
        },
      ),
    )
}

/** Returns the records of a conversation's turns between two positions, in order. */
const turnFactsOf = async (
  chat: Conversation,
  from: number,
  at = Infinity,
): Promise<readonly RecordedTurnFact[]> => {
  const facts: RecordedTurnFact[] = []
  for await (const fact of chat.turnFacts())
    if (Math.max(0, fact.data.at) >= from && fact.data.at <= at) facts.push(fact)
  return facts
}
