// npm run demo:agent [-- --help]: plays turns of agent.ts and says what became of its context.
import { openStore } from '../../src/index.ts'
import { runDemo, say } from '../demo/demo.ts'
import { agent, maxOutput } from './agent.ts'
import { notingClient } from './client.ts'
import { type Options, optionsOf } from './options.ts'
import { eventsFrom, play, tallyOf } from './play.ts'
import { headLine, isGood, nextLines, type Outcome, outcomeLines, plural, turnLine } from './report.ts'
import { standIn } from './stand-in.ts'
import { workspace } from './workspace.ts'

const demo = async ({ turns, window, model, store: given }: Options): Promise<void> => {
  // A store that cannot be opened leaves no folder behind.
  const opened = given === undefined ? undefined : await openStore(given)
  const { name, project, store: own } = await workspace()
  const store = opened ?? (await openStore(own))
  const api = isReal ? undefined : await standIn(model, window)
  const { client, refused } = notingClient(api?.url)
  const chat = store.conversation(name)
  try {
    const player = api ? ', played by the stand-in' : ''
    say(`${plural(turns, 'turn')} of ${model}${player}, in ${window.toLocaleString('en')} tokens`)
    say(`Conversation ${name} in ${store.url}`, '')
    say(headLine)
    const allowed = Math.floor(0.9 * window) - maxOutput
    for await (const played of play(chat, agent({ chat, client, model, window, folder: project }), turns))
      say(turnLine(played, allowed))
    const outcome: Outcome = {
      all: tallyOf(await eventsFrom(chat)),
      seconds: process.uptime(),
      refused,
      receipts: await chat.verifyReceipts(),
    }
    say('', ...outcomeLines(outcome))
    say('', ...nextLines(store.url, name, project, Math.ceil(outcome.receipts.receipts / 2)))
    if (!isGood(outcome)) process.exitCode = 1
  } finally {
    await store.close()
    await api?.close()
  }
}

const isReal = Boolean(process.env['ANTHROPIC_API_KEY'])
await runDemo(optionsOf(process.argv.slice(2), isReal), demo)
