import type { Command } from 'commander'
import { visible, visibleLines } from '../../transfer/formats/visible.ts'
import type { MessageHit, SearchPage, Store, TitleHit } from '../../index.ts'
import { several } from '../options.ts'
import type { Output } from '../output.ts'
import { conversationNamed, type Shell } from '../shell.ts'
import { shortIdsIn } from '../short-ids.ts'
import { cutStart, pad, type TextSpan, widthOf } from '../text.ts'
import { labelPart, positionPart } from '../views/items.ts'
import { writeTable } from '../views/table.ts'
import { leavesOut } from '../wait-for-index.ts'

interface Options {
  readonly in?: string | undefined
  readonly limit: number
  readonly hidden?: boolean
}

export const addSearch = (program: Command, shell: Shell): void => {
  program
    .command('search <text>')
    .description('find where something was said')
    .option('--in <id>', 'only in this conversation (and the history that it inherited)')
    .option('--hidden', 'only what the model does not see now: hidden or abandoned messages')
    .option('--limit <n>', 'at most n hits, the newest first', several, 50)
    .addHelpText(
      'after',
      `
Finds a text of 3 to 500 characters, verbatim except for case:
words, parts of words, paths and ids, in messages, thinking, tool calls and
results, and in system prompts, on every branch, and in titles. The index that
this needs is created by the first search, beside an SQLite store;
PALIMPSEST_INDEX names another folder.

In a pipe, each line is conversation, position, kind, whether the model sees it
now (shown, or what hides or abandons it) and the text around it, separated by
tabs. A title has neither position nor state.

Examples:
  palimpsest search src/parser.ts
  palimpsest search src/parser.ts --hidden
  palimpsest search "leaves a string open" --in task-42`,
    )
    .action(
      shell.action('existing', async ({ store, out, isJson, host, fail }, text: string, options: Options) => {
        const within = options.in === undefined ? undefined : await conversationNamed(store, options.in)
        const { titles, items, next, problem } = await whole(store, text, { ...options, in: within })
        if (leavesOut(problem)) fail()
        if (isJson)
          return out.json({
            titles,
            items,
            isMore: next !== undefined,
            ...(problem !== undefined && { problem }),
          })
        if (titles.length + items.length === 0) await out.aside(['nothing was found', 'dim'])
        if (out.isTerminal) await writeHits(out, store, [...titles, ...items])
        else await writeTable(out, [], [...titles.map(titleRow), ...items.map(itemRow)])
        if (next !== undefined) await out.aside([`there may be more: --limit ${options.limit * 2}`, 'dim'])
        if (problem !== undefined) host.stderr.write(`${visibleLines(problem)}\n`)
      }),
    )
}

/** Waits until every event is indexed, then collects hits up to the limit. */
const whole = async (
  { catalogue }: Store,
  text: string,
  { in: conversation, limit, hidden = false }: Options,
): Promise<SearchPage> => {
  let page = await catalogue.search(text, { conversation, limit })
  while (!page.isComplete && page.problem === undefined)
    page = await catalogue.search(text, { conversation, limit })
  const isWanted = ({ now }: MessageHit): boolean => !hidden || now.state !== 'shown'
  const titles = hidden ? [] : page.titles
  const items = page.items.filter(isWanted)
  let { problem } = page
  while (page.next !== undefined && items.length < limit) {
    page = await catalogue.search(text, { conversation, limit: limit - items.length, cursor: page.next })
    items.push(...page.items.filter(isWanted))
    problem ??= page.problem
  }
  return { ...page, titles, items, ...(problem !== undefined && { problem }) }
}

const kinds: Readonly<Record<string, string>> = {
  u: 'user',
  r: 'result',
  a: 'assistant',
  c: 'call',
  s: 'system',
  C: 'summary',
  K: 'configured',
}

/** Formats the current state of a hit, such as `shown` or `hidden by 12`. */
const stateText = ({ now }: MessageHit): string => ('by' in now ? `${now.state} by ${now.by}` : now.state)

const lineOf = (text: string): string => text.replaceAll(/\s+/g, ' ')

/** Writes a line for each hit, with short ids, and with as much of the text around the match as fits. */
const writeHits = async (
  out: Output,
  store: Store,
  hits: readonly (MessageHit | TitleHit)[],
): Promise<void> => {
  const ids = await shortIdsIn(store, [...new Set(hits.map(({ conversation }) => conversation))])
  const shortOf = ({ conversation }: { readonly conversation: string }): string =>
    visible(ids.get(conversation) ?? conversation)
  const width = Math.max(...hits.map((hit) => widthOf(shortOf(hit))))
  for (const hit of hits) {
    const before: readonly TextSpan[] = [
      [`${pad(shortOf(hit), width)} `, 'bold', 'whole'],
      ...('position' in hit ? placeParts(hit) : [labelPart('title', 'marker')]),
    ]
    const taken = before.reduce((sum, [text]) => sum + widthOf(text), 0)
    await out.parts([...before, ...excerptParts(hit.excerpt, out.columns - taken)])
  }
}

const placeParts = (hit: MessageHit): readonly TextSpan[] => {
  const { position, kind, now } = hit
  return [
    positionPart(position),
    labelPart(
      kinds[kind] ?? kind,
      kind === 'C' || kind === 'K' ? 'marker' : kind === 'u' || kind === 'r' ? 'user' : 'assistant',
    ),
    ...(now.state === 'shown' ? [] : ([[`${stateText(hit)}  `, 'dim']] as const)),
  ]
}

const itemRow = (hit: MessageHit): readonly string[] => {
  const { conversation, position, kind, excerpt } = hit
  return [conversation, String(position), kinds[kind] ?? kind, stateText(hit), wholeOf(excerpt)]
}

const wholeOf = ({ before, match, after }: MessageHit['excerpt']): string =>
  lineOf(`${before}${match}${after}`)

const titleRow = ({ conversation, excerpt }: TitleHit): readonly string[] => [
  conversation,
  '',
  'title',
  '',
  wholeOf(excerpt),
]

/** Formats an excerpt in this many columns, with the match in the middle. The match is never cut. */
const excerptParts = (
  { before, match, after }: MessageHit['excerpt'],
  columns: number,
): readonly TextSpan[] => {
  const [start = '', found = '', end = ''] = [before, match, after].map((text) => visible(lineOf(text)))
  const room = Math.max(0, columns - widthOf(found))
  const left = Math.max(Math.floor(room / 2), room - widthOf(end))
  return [[cutStart(start, left)], [found, 'warning', 'whole'], [end]]
}
