// npm run demo:workers [-- --help]: many conversations, several processes, and somebody who kills these. Says what became of it.
import { randomUUID } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { abortOnSignals } from '../../src/cli/work/abort-on-signals.ts'
import { openStore } from '../../src/index.ts'
import { runDemo, say } from '../demo/demo.ts'
import { audit } from './audit.ts'
import { startCrew } from './crew.ts'
import { optionsOf, type Options } from './options.ts'
import { isGood, nextLines, outcomeLines } from './outcome.ts'
import { play } from './play.ts'
import { screenOn } from './screen.ts'
import { openShop } from './shop.ts'
import { standIn } from './stand-in.ts'

const demo = async ({ seconds, processes, conversations, store: given }: Options): Promise<void> => {
  const url = given ?? `sqlite:${join(await mkdtemp(join(tmpdir(), 'palimpsest-')), 'workers.db')}`
  const store = await openStore(url)
  const name = `demo-${randomUUID().slice(0, 4)}`
  say(`Conversations ${name}-1 to ${name}-${conversations} in ${store.url}`, '')
  const [api, shop] = await Promise.all([standIn(), openShop()])
  const env = { ANTHROPIC_BASE_URL: api.url, ANTHROPIC_API_KEY: 'none', SHOP_URL: shop.url }
  const crew = startCrew({ store: url, name, processes, env })
  const { drain, end, forget } = abortOnSignals()
  end.signal.addEventListener('abort', () => {
    crew.end()
    process.exit(130)
  })
  try {
    const chats = Array.from({ length: conversations }, (_, n) => store.conversation(`${name}-${n + 1}`))
    const played = await play(
      { store, crew, chats, name, seconds },
      { screen: screenOn(process.stdout), signal: drain.signal },
    )
    await crew.drain()
    const outcome = { ...played, ...(await audit(url, `${name}-`, played.deaths)), refunds: shop.refunds }
    say('', ...outcomeLines(outcome), '', ...nextLines(withQuery(store.url, url), `${name}-1`))
    if (!isGood(outcome)) process.exitCode = 1
  } finally {
    forget()
    crew.end()
    await store.close()
    await api.close()
    shop.close()
  }
}

/** The store's own URL has no credentials, but may leave out how to connect. */
const withQuery = (shown: string, given: string): string => {
  const [, query = ''] = given.split('?')
  return query === '' || shown.includes('?') ? shown : `${shown}?${query}`
}

await runDemo(optionsOf(process.argv.slice(2)), demo)
