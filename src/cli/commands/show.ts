import type { Command } from 'commander'
import { positionAt } from '../conversation.ts'
import { invalidInput } from '../../events/errors.ts'
import { toError } from '../../result/typed-error.ts'
import { entryParts as markdownParts } from '../../transfer/formats/write-markdown.ts'
import { exclusive, position, positionOrStart, several } from '../options.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { entryParts, itemParts } from '../views/items.ts'
import { contextTokens, contextTokensText } from '../views/context-tokens.ts'
import { isNote, noteParts } from '../views/notes.ts'

interface FullViewOptions {
  readonly at?: number
  readonly last?: number
  readonly before?: number
  readonly abandoned?: boolean
  readonly notes?: boolean
}

interface ShowOptions extends FullViewOptions {
  readonly full?: true
  readonly position?: number
}

export const addShow = (program: Command, shell: Shell): void => {
  const command = program
    .command('show <id>')
    .description('show what the model sees, or saw; --full: every message, with its status')
    .option('--full', 'the full history: every message and marker, with its status')
    .addOption(
      exclusive(
        '--position <n>',
        'only the message or marker at this position, with all of its text',
        ['full', 'at'],
        position,
      ),
    )
  withFullOptions(command, 'with --full: ')
    .hook('preAction', () => {
      const { full, at: _at, position: _position, ...others } = command.opts()
      const [other] = Object.keys(others)
      if (full !== true && other !== undefined)
        command.error(`error: option '--${other}' cannot be used without option '--full'`)
    })
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest show task-42\n  palimpsest show task-42 --at 12\n  palimpsest show task-42 --position 22\n  palimpsest show task-42 --full --abandoned\n  palimpsest show task-42 --full | grep condensed',
    )
    .action(
      shell.look((session, id, { full, position: only, ...options }: ShowOptions) => {
        if (only !== undefined) return writeEntry(session, id, only)
        return full ? writeFull(session, id, options) : writeEffective(session, id, options)
      }),
    )
}

/** Adds the former name of `show --full`. */
export const addFull = (program: Command, shell: Shell): void => {
  withFullOptions(program.command('full <id>', { hidden: true }))
    .description('the former name of `show --full`')
    .action(shell.look(writeFull))
}

const withFullOptions = (command: Command, condition = ''): Command =>
  command
    .option('--at <position>', 'as of this position (default: now)', positionOrStart)
    .option('-n, --last <n>', `${condition}only the newest n entries`, several)
    .option(
      '--before <position>',
      `${condition}only entries before this position (with --last: to page back)`,
      position,
    )
    .option('--abandoned', `${condition}include abandoned branches`)
    .option(
      '--notes',
      `${condition}include notes and links, each below the entry that was the last when it was added`,
    )

const writeEffective = async (
  { store, out, isJson }: CommandSession,
  id: string,
  options: Pick<FullViewOptions, 'at'>,
): Promise<void> => {
  const chat = store.conversation(id)
  const at = await positionAt(chat, options.at)
  const context = await chat.context({ at })
  const { items } = context
  const counted = contextTokens(context)
  if (isJson) return out.json({ conversation: id, at, ...counted, items })
  await out.aside([`what the model ${options.at === undefined ? 'sees' : 'saw'} in ${id} at ${at}`, 'bold'])
  for (const item of items) await out.parts(itemParts(item))
  await out.aside([
    items.length === 0 ? 'nothing: the conversation is empty at this position' : contextTokensText(counted),
    'dim',
  ])
}

const writeEntry = async ({ store, out, isJson }: CommandSession, id: string, at: number): Promise<void> => {
  const newest = await store.conversation(id).full({ abandoned: true, before: at + 1, last: 1 })
  const entry = newest.find((one) => one.position === at)
  if (!entry)
    throw toError(
      invalidInput(
        'position',
        `no message or marker is at ${at}: palimpsest log ${id} --all lists every event`,
      ),
    )
  return isJson
    ? out.json({ conversation: id, entry })
    : out.text(`${[...markdownParts(entry)].join('\n\n')}\n`)
}

const writeFull = async (
  { store, out, isJson }: CommandSession,
  id: string,
  options: FullViewOptions,
): Promise<void> => {
  const chat = store.conversation(id)
  const at = await positionAt(chat, options.at)
  const entries = options.notes
    ? await chat.full({ ...options, at, notes: true })
    : await chat.full({ ...options, at })
  if (isJson) return out.json({ conversation: id, at, entries })
  await out.aside([`full history of ${id} at ${at}`, 'bold'])
  for (const entry of entries) await out.parts(isNote(entry) ? noteParts(entry) : entryParts(entry))
}
