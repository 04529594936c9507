import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Conversation } from '../../index.ts'
import type { BisectionState, BisectOptions, Judge, KeptVerdict, Verdict } from '../../investigate/index.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import { confirm } from '../confirm.ts'
import type { Host } from '../host.ts'
import { secondsIn } from '../durations.ts'
import { exclusive, position, positionOrStart } from '../options.ts'
import type { Output } from '../output.ts'
import type { Shell } from '../shell.ts'
import { plural, shellWord } from '../text.ts'
import { eventParts } from '../views/timeline.ts'
import { loadAgent } from '../work/agent.ts'
import { commandJudge, defaultTimeout } from '../work/command-judge.ts'

interface Options {
  readonly good: number
  readonly bad: number
  readonly run?: string
  readonly ask?: string
  readonly agent?: string
  readonly mark?: Verdict
  readonly reliability?: number
  readonly again?: true
  readonly timeout?: number
  readonly yes?: true
}

const reliability = (text: string): number => {
  const number = Number(text)
  if (!(number > 0.5 && number <= 1))
    throw new InvalidArgumentError('It must be a number above 0.5 and at most 1, such as 0.8.')
  return number
}

export const addBisect = (program: Command, shell: Shell): void => {
  program
    .command('bisect <id>')
    .description('find the event that made a conversation go wrong')
    .requiredOption(
      '--good <position>',
      'a position where all was well (-1: before the first event)',
      positionOrStart,
    )
    .requiredOption('--bad <position>', 'a later position where something was wrong', position)
    .addOption(exclusive('--run <command>', 'judge by a shell command', ['ask', 'mark']))
    .addOption(exclusive('--ask <question>', 'ask a model; yes means bad', ['run', 'mark']))
    .option('--agent <file>', 'with --ask: module of an agent, as for work, whose client and model to use')
    .addOption(
      new Option('--mark <verdict>', 'the verdict on the position in question').choices([
        'good',
        'bad',
        'skip',
      ]),
    )
    .option(
      '--reliability <share>',
      'probability that a verdict is right (default: 1; with --ask: measured)',
      reliability,
    )
    .option(
      '--timeout <duration>',
      `with --run: how long a command may take: 90s, 10min, or seconds (default: ${defaultTimeout}s)`,
      secondsIn,
    )
    .option('--yes', 'with --ask: send without asking')
    .option('--again', 'start again, ignoring earlier verdicts')
    .addHelpText(
      'after',
      `
The command gets { conversation, position, items, request } as JSON on standard
input, and PALIMPSEST_CONVERSATION and PALIMPSEST_POSITION in its environment.
Exit code 0 means good, 125 skip, any other up to 124 bad. An exit code of 126
or more, a signal that kills the command, or a run longer than --timeout ends
the search, which can be continued. The command is run at --good and --bad
first; the search begins only if it finds the former good and the latter bad.

Without --run and --ask, bisect prints the position to look at (show ID --at N);
answer with --mark. Every verdict is kept as a note with its evidence, so the
same command line continues the search, and reports how many verdicts were
kept. Markers, rewinds, configurations and repairs are suspected first.

With --ask, the model is first asked five times at each end, to find out how
often it is right. The number of requests is printed and must be confirmed;
without a terminal, nothing is sent unless --yes is given. Exit code 1 if the
search ends without a result.

Examples:
  palimpsest bisect task-42 --good 4 --bad 31 --run 'grep -q src/parser.ts'
  palimpsest bisect task-42 --good 4 --bad 31
  palimpsest bisect task-42 --good 4 --bad 31 --mark good
  palimpsest bisect task-42 --good 4 --bad 31 \\
    --ask "Has it forgotten which file to change?" --agent agent.ts`,
    )
    .action(
      shell.edit(async ({ store, out, isJson, host, fail }, id: string, options: Options) => {
        const chat = store.conversation(id)
        let said = Promise.resolve()
        const onVerdict = (verdict: KeptVerdict): void => {
          if (!isJson) said = said.then(() => writeVerdict(out, verdict))
        }
        const given = await asked(chat, options, host)
        if (options.ask !== undefined && !(await mayAsk(host, options))) return
        let unread = 0
        const { judge } = given
        const counting: Judge | undefined =
          judge &&
          (async (state) => {
            const judged = await judge(state)
            unread = judged.verdict === 'skip' ? unread + 1 : -Infinity
            return judged
          })
        const { bisect } = await import('../../investigate/index.ts')
        const onKept = (verdicts: number, since: string): void => {
          if (!isJson)
            host.stderr.write(`${plural(verdicts, 'verdict')} kept since ${since}: --again ignores them\n`)
        }
        const found = await bisect(chat, { ...given, judge: counting, onKept, onVerdict }).finally(() => said)
        if (found.result.type === 'unclear') fail()
        if (options.ask !== undefined && unread > 0)
          host.stderr.write(
            `none of the ${plural(unread, 'answer')} could be read as yes or no: ask a question that is answered with one of them, or another model. --again asks again\n`,
          )
        return isJson ? out.json(found) : writeResult(out, chat, found, options)
      }),
    )
}

const asked = async (chat: Conversation, options: Options, host: Host): Promise<BisectOptions> => {
  const { good, bad, run, ask, agent, mark, again, timeout } = options
  const own = { good, bad, mark, again }
  if (run !== undefined)
    return {
      ...own,
      question: run,
      judge: commandJudge(run, host.env, timeout),
      checkEnds: true,
      reliability: options.reliability,
    }
  if (timeout !== undefined) throw toError(usage('--timeout needs --run'))
  if (ask === undefined) return { ...own, reliability: options.reliability }
  if (agent === undefined)
    throw toError(usage('--ask needs --agent: the module whose client and model to ask'))
  const judge = await agentJudge(chat, ask, agent)
  return { ...own, question: ask, judge, reliability: options.reliability ?? 'measure' }
}

/** Number of questions with which the reliability of a model is measured: five at each end. */
const measuring = 10

/** Says how many requests will be sent, and asks for confirmation. */
const mayAsk = async (host: Host, { good, bad, reliability: given, yes }: Options): Promise<boolean> => {
  const { stdin, stderr } = host
  const searching = Math.ceil(Math.log2(Math.max(2, bad - good)))
  const first = given === undefined ? `${measuring} at the ends, ` : ''
  const least = searching + (given === undefined ? measuring : 0)
  stderr.write(
    `to send: at least ${plural(least, 'request')}, ${first}${searching} or more between them; those with a verdict are not sent again\n`,
  )
  if (yes) return true
  if (!stdin.isTTY) throw toError(usage('nothing was sent: give --yes'))
  return confirm(host, 'Send?')
}

const agentJudge = async (chat: Conversation, question: string, file: string): Promise<Judge> => {
  const { turn } = await loadAgent(file)
  const { client, model } = await turn({ id: chat.id, chat })
  const { modelJudge } = await import('../../investigate/index.ts')
  return modelJudge({ client, model, question })
}

const writeVerdict = (out: Output, { position: at, verdict, isMeasure }: KeptVerdict): Promise<void> =>
  out.line(
    [String(at).padStart(5), 'position'],
    [`  ${verdict}${isMeasure ? '  (an end)' : ''}`, verdict === 'bad' ? 'warning' : 'dim'],
  )

const writeResult = async (
  out: Output,
  chat: Conversation,
  { result }: BisectionState,
  { good, bad }: Options,
): Promise<void> => {
  const id = shellWord(chat.id)
  if (result.type === 'ask') {
    await out.line([`look at ${result.position}: palimpsest show ${id} --at ${result.position}`])
    return out.line([
      `then answer with good, bad or skip: palimpsest bisect ${id} --good ${good} --bad ${bad} --mark good`,
    ])
  }
  if (result.type === 'unclear') return out.line([unclearText(result), 'warning'])
  await out.line([`first bad (${Math.round(100 * result.probability)} %):`])
  for await (const event of chat.events({ from: result.position, to: result.position }))
    await out.parts(eventParts(event))
}

const unclearText = ({
  first,
  last,
  why,
}: Extract<BisectionState['result'], { readonly type: 'unclear' }>): string => {
  const from = first < 0 ? 'the beginning' : first
  switch (why) {
    case 'skipped':
      return `it is one of ${from} to ${last}: the positions in between were skipped`
    case 'contradicting':
      return `no single event explains the verdicts: look at ${from} to ${last}, which may hold more than one change`
    case 'alike':
      return `the verdicts at ${from} and ${last} are too similar to tell good from bad: rephrase the question`
  }
}
