import type { AnyBlock } from '../../src/events/blocks.ts'

// What the models of the sample say, call by call. The files that they read and change are real (examples/agent/project).

type Said = readonly AnyBlock[]

const thinking = (text: string): AnyBlock => ({ type: 'thinking', thinking: text })
const text = (said: string): AnyBlock => ({ type: 'text', text: said })
const call = (name: string, input: Readonly<Record<string, string>> = {}): AnyBlock => ({
  type: 'tool_use',
  name,
  input,
})
const read = (name: string): AnyBlock => call('read_file', { path: `src/${name}.js` })
const grep = (found: string): AnyBlock => call('grep', { text: found })
const edit = (name: string, old: string, now: string): AnyBlock =>
  call('edit_file', { path: `src/${name}.js`, old, new: now })
const refuse = (name: string, condition: string): AnyBlock =>
  edit(name, `// TODO: refuse ${condition}`, `if (${condition}) throw new RangeError('refused')`)

/** The agent, in the conversation. */
export const agentSays: readonly Said[] = [
  [
    thinking('Half an hour is lost. Somebody rounds hours down, or minutes never get that far.'),
    text('I will look for where minutes become money.'),
    call('list_files'),
    grep('minutes'),
  ],
  [
    text('`costOf` is the suspect. I read it together with what it calls.'),
    read('invoice'),
    read('money'),
    read('entries'),
  ],
  [
    thinking('floor(90 / 60) is 1. `times` rounds the product, so nothing has to be rounded before.'),
    edit('invoice', 'Math.floor(minutes/60)', 'minutes / 60'),
  ],
  [
    text('The file has spaces around the slash. Once more, as it is written there.'),
    edit('invoice', 'Math.floor(minutes / 60)', 'minutes / 60'),
  ],
  [
    text(
      'Fixed. `costOf` in `src/invoice.js` rounded the hours **down** before it multiplied, so 90 minutes cost as much as 60:\n\n| | before | after |\n|---|---|---|\n| 0:45 | 0.00 | 60.00 |\n| 1:30 | 80.00 | 120.00 |\n| 2:00 | 160.00 | 160.00 |\n\nIt multiplies by the exact number of hours now, and `times` rounds the product to a cent.',
    ),
  ],
  [
    thinking(
      'Amounts that are no numbers would now go through. The TODOs say what each function should refuse.',
    ),
    text('First those of `money.js` and `dates.js`.'),
    read('dates'),
    refuse('money', '!amounts.every(Number.isInteger)'),
    refuse('money', '!Number.isFinite(factor)'),
  ],
  [
    refuse('money', 'count < 1'),
    refuse('money', '!Number.isInteger(amount)'),
    refuse('dates', 'date.length !== 10'),
  ],
  [
    refuse('dates', '!Number.isInteger(days)'),
    refuse('dates', 'to <= from'),
    refuse('dates', 'month.length !== 7'),
  ],
  [
    thinking('`to <= from` is not what is written there: it is `to < from`, and the same day is allowed.'),
    refuse('dates', 'to < from'),
    grep('throw new RangeError'),
  ],
  [
    text(
      '`money.js` and `dates.js` now refuse what they cannot use, with a `RangeError`. One TODO in `money.js` needs a pattern; I left it.',
    ),
  ],
  // Then it goes astray.
  [
    thinking('Prices in the report: the widths are in report.js, but perhaps a new module is cleaner.'),
    text('I will move all formatting into a module of its own.'),
    read('report'),
    read('text'),
  ],
  [
    call('write_file', {
      path: 'src/format.js',
      text: "// Everything that is printed.\nexport * from './text.js'\nexport { clock } from './entries.js'\nexport { written } from './money.js'\n",
    }),
    edit('report', "import { clock } from './entries.js'", "import { clock } from './format.js'"),
  ],
  [
    text(
      '`src/format.js` now collects all formatting. Shall I delete `text.js` and move its functions there as well?',
    ),
  ],
  // Asked again after the rewind.
  [
    thinking('Only the width of the amounts matters: right(written(cost), 12) holds 9,999,999.99.'),
    text('The column of amounts has 12 characters. I look at what else prints amounts.'),
    grep('written('),
    call('explore', { question: 'Which functions decide how wide a printed invoice is?' }),
  ],
  [
    text('Two places use 12, `printedLine` and `printed`. I change both.'),
    edit('report', 'right(written(cost), 12)}', 'right(written(cost), 16)}'),
    edit('report', 'right(written(sum), 12)}', 'right(written(sum), 16)}'),
  ],
  [
    text(
      'Amounts now have 16 characters in the lines and in the foot of an invoice: up to 999,999,999,999.99 stays aligned.',
    ),
  ],
  [
    text('I check every caller once more, then note the changes.'),
    read('invoice'),
    read('report'),
    grep('costOf('),
    call('read_file', { path: 'CHANGELOG.md' }),
  ],
  [text('The file has another name here.'), call('read_file', { path: 'CHANGES.md' })],
  [
    call('edit_file', {
      path: 'CHANGES.md',
      old: '## Next\n',
      new: '## Next\n\n- Parts of an hour are billed.\n- Amounts of a million and more stay aligned.',
    }),
  ],
  [text('`CHANGES.md` says both. Nothing else calls `costOf`.')],
  [
    thinking('Publishing needs somebody to agree.'),
    text('Everything is in place. I ask to publish 1.4.0.'),
    call('publish', { version: '1.4.0' }),
  ],
]

/** The agent in the fork, which is asked to find another way. */
export const forkSays: readonly Said[] = [
  [
    thinking('Whole minutes: rate / 60 is not a whole number of cents. Multiply first, then divide.'),
    text('One can also multiply first and divide by 60 at the end.'),
    edit('invoice', 'times(rate, minutes / 60)', 'times(rate * minutes, 1 / 60)'),
  ],
  [
    text(
      '`rate * minutes` is a whole number, so there is one rounding, at the end. 0:20 at 80.00 is 26.67 both ways.',
    ),
  ],
]

/** Whom it sends to explore. */
export const explorerSays: readonly Said[] = [
  [text('I look at what is printed.'), read('report'), grep('width')],
  [
    text(
      '`printedLine` and `printed` in `src/report.js`: 40 characters for the task, 6 for the time, 12 for the amount.',
    ),
  ],
]

/** The model that writes summaries. */
export const summaries: readonly Said[] = [
  [
    text(
      '## Asked for\n- An invoice lists 1:30 at 80.00 an hour as 80.00 instead of 120.00: find out why, fix it.\n- Then: do the TODOs of `src/money.js` and `src/dates.js`.\n\n## Done\n- `src/invoice.js`: `costOf` no longer rounds hours down. `times` rounds the product.\n- `src/money.js`, `src/dates.js`: checks that throw a `RangeError`.\n\n## Open\n- The rest of the TODOs. The one of `parsed` in `money.js` needs a pattern.',
    ),
  ],
  [
    text(
      '## Asked for\n- The bug in `costOf` (fixed), TODOs of `money.js` and `dates.js` (done), wider amounts in reports.\n\n## Done\n- `src/report.js`: amounts have 16 characters in `printedLine` and `printed`.\n\n## Open\n- Note the changes in `CHANGES.md`, then publish.',
    ),
  ],
]
