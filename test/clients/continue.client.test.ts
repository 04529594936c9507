import { spawn } from 'node:child_process'
import { createReadStream, existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text as textOf } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { type Conversation, openStore } from '../../src/index.ts'
import { shell } from '../cli/palimpsest.ts'
import { atEnd } from '../support/at-end.ts'
import { clientCommand } from './programs.ts'
import { type ModelBody, modelStandIn } from './model-stand-in.ts'
import { itemUnits, messageUnits, type Unit } from './units.ts'

// The real clients continue sessions that we write, at random positions, and send what the conversation shows there. They are started
// headless with a HOME of their own, against a stand-in on loopback. `PALIMPSEST_SESSIONS` names a folder with real sessions (otherwise
// the samples are taken), `--runs` the positions for each client.

const positions = Number(process.env['PALIMPSEST_CONTINUE'] ?? 3)
const seed = Number(process.env['PALIMPSEST_SEED'] ?? Date.now() % 100_000)
const sessions = process.env['PALIMPSEST_SESSIONS'] ?? new URL('../samples', import.meta.url).pathname
const prompt = 'NEXT PROMPT'

interface Client {
  /** Prepares the HOME, and returns more environment. */
  readonly prepare: (home: string, url: string) => Promise<Readonly<Record<string, string>>>
  readonly args: (session: string, file: string) => readonly string[]
  readonly unitsOf: (body: ModelBody) => readonly Unit[]
}

const ofMessages = ({ messages = [] }: ModelBody): readonly Unit[] => messageUnits(messages)

const clients: Readonly<Record<'claude-code' | 'codex' | 'pi', Client>> = {
  'claude-code': {
    prepare: async (_, url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'key',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTO_COMPACT: '1',
    }),
    args: (session) => ['-p', prompt, '--resume', session],
    unitsOf: ofMessages,
  },
  codex: {
    prepare: async (home, url) => {
      await mkdir(join(home, '.codex'), { recursive: true })
      const provider = `name = "stand-in"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "STAND_IN_KEY"\n`
      const config = `model = "stand-in"\nmodel_provider = "stand-in"\n[model_providers.stand-in]\n${provider}`
      await writeFile(join(home, '.codex/config.toml'), config)
      return { STAND_IN_KEY: 'key' }
    },
    args: (session) => ['exec', 'resume', '--skip-git-repo-check', '--json', session, prompt],
    unitsOf: ({ input = [] }) => itemUnits(input),
  },
  pi: {
    prepare: async (home, url) => {
      await mkdir(join(home, '.pi/agent'), { recursive: true })
      const providers = { anthropic: { baseUrl: url } }
      await writeFile(join(home, '.pi/agent/models.json'), JSON.stringify({ providers }))
      return { ANTHROPIC_API_KEY: 'key', PI_OFFLINE: '1' }
    },
    args: (_, file) => [
      '-p',
      '--provider',
      'anthropic',
      '--model',
      'claude-opus-5-5',
      '--session',
      file,
      prompt,
    ],
    unitsOf: ofMessages,
  },
}

/** Starts a client and waits for its end, at most five minutes. */
const runClient = async (
  program: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<string> => {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 300_000 })
  const [out, err] = await Promise.all([textOf(child.stdout), textOf(child.stderr)])
  return `${out}${err}`
}

interface Loss {
  readonly kind: string
  readonly position: number
}

/** Makes units equal where the report says that they differ: outputs that are cut, tools that are renamed. */
const allowing = (lost: readonly Loss[], units: readonly Unit[], other: readonly Unit[]): readonly Unit[] => {
  const has = (kind: string): boolean => lost.some((loss) => loss.kind === kind)
  return units.map((unit, index) => {
    const [kind, id = '', said = ''] = unit
    const beside = other[index]
    const isLong = kind === 'result' && Math.max(said.length, beside?.[2]?.length ?? 0) > 10_000
    if (isLong && has('output-cut')) return [kind, id, said.slice(0, 1_000)]
    // A call without a result gets one from us, or from the client in its own words.
    if (
      kind === 'result' &&
      [said, beside?.[2]].some((text) => text === 'No result was recorded for this call.')
    )
      return [kind, id]
    if (kind === 'call' && said === 'Task' && has('tool-renamed')) return unit.with(2, 'Agent')
    return unit
  })
}

/** A generator of numbers from 0 to 1 that a seed repeats. */
const randoms = (from: number): (() => number) => {
  let state = from
  return () => (state = (state * 1_103_515_245 + 12_345) & 0x7fffffff) / 0x7fffffff
}

const filesIn = (folder: string): readonly string[] =>
  ['claude-code', 'pi'].flatMap((name) =>
    existsSync(join(folder, name))
      ? readdirSync(join(folder, name), { withFileTypes: true })
          .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
          .map((entry) => join(folder, name, entry.name))
      : [],
  )

describe.each(Object.entries(clients) as (readonly [keyof typeof clients, Client])[])(
  '%s continues where we say',
  (name, client) => {
    const program = clientCommand(name) ?? ''

    test.skipIf(program === '')(`at ${positions} positions, seed ${seed}`, async () => {
      const folder = await realpath(await mkdtemp(join(tmpdir(), 'palimpsest-continue-')))
      atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
      const api = await modelStandIn()
      atEnd(api.close)
      const url = `sqlite:${folder}/palimpsest.db`
      const store = await openStore(url)
      atEnd(() => store.close())
      const home = join(folder, 'home')
      const cwd = join(folder, 'project')
      await mkdir(cwd, { recursive: true })
      const env = {
        HOME: home,
        TMPDIR: folder,
        PATH: process.env['PATH'] ?? '',
        LANG: 'C.UTF-8',
        TERM: 'dumb',
        CI: '1',
        DISABLE_TELEMETRY: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_ERROR_REPORTING: '1',
        DO_NOT_TRACK: '1',
        ...(await client.prepare(home, api.url)),
      }
      const chats = []
      for (const file of filesIn(sessions)) {
        const { conversations } = await store.importSession({ file, bytes: createReadStream(file) })
        const [largest] = conversations.toSorted((one, other) => other.added - one.added)
        if (largest) chats.push(store.conversation(largest.id))
      }
      const random = randoms(seed)
      const ways = { verbatim: 0, rendered: 0 }
      let compared = 0
      for (let run = 0; compared < positions && run < positions * 3; run++) {
        const chat = chats[run % chats.length]
        if (!chat) continue
        const last = await chat.position()
        const at = run < chats.length ? last : Math.floor(random() * (last + 1))
        const { messages } = await chat.render({ at, systemMessages: true })
        if (messages.length === 0) continue
        const { stdout, stderr } = await shell(
          `palimpsest export ${chat.id} --format ${name} --at ${at} --install --cwd ${cwd} --force --json --store ${url}`,
          folder,
          { HOME: home },
        )
        expect(stderr).toBe('')
        const { session, file, lost, way } = JSON.parse(stdout) as Installed
        ways[way]++
        // Before the client adds to the copy.
        const own = await ownSession(name, chat, file, session)
        api.taken()
        const said = await runClient(program, client.args(session, file), { cwd, env })
        const sent = api.taken().findLast((body) => JSON.stringify(body).includes(prompt))
        expect.soft(sent, `${name} at ${at} of ${chat.id}: ${said.slice(-2_000)}`).toBeDefined()
        const got = client
          .unitsOf(sent ?? {})
          .filter(
            ([who, what]) => what !== prompt && !(who === 'assistant' && what === 'No response requested.'),
          )
        const want = messageUnits(messages.map((message) => ({ ...message })))
        expect
          .soft(allowing(lost, got, want), `${name} at ${at} of ${chat.id}`)
          .toEqual(allowing(lost, want, got))
        if (way === 'verbatim') {
          // The program's own session, cut at the same line: it sends the same messages, so the prompt cache serves them.
          const first = await runClient(program, client.args(own.session, own.file), { cwd, env })
          const begun = api.taken().findLast((body) => JSON.stringify(body).includes(prompt))
          expect
            .soft(begun, `${name}, its own session at ${at} of ${chat.id}: ${first.slice(-2_000)}`)
            .toBeDefined()
          expect
            .soft(leading(sent, [session, own.session]), `${name}, verbatim at ${at} of ${chat.id}`)
            .toEqual(leading(begun, [own.session]))
        }
        compared++
      }
      const { verbatim, rendered } = ways
      process.stderr.write(
        `${name}: ${compared} positions continued, every unit in order; ${verbatim} verbatim, ${rendered} rendered\n`,
      )
      expect(compared).toBe(positions)
    })
  },
)

/** Writes as many lines of the original file as were copied, under its own id, beside the copy. */
const ownSession = async (name: string, chat: Conversation, file: string, copied: string) => {
  const bytes = await buffer((await chat.original()).pieces)
  const copy = (await readFile(file, 'utf8')).split('\n')
  const own = file.replace(copied, chat.id)
  const lines = bytes
    .toString()
    .split('\n')
    .slice(0, copy.length - 1)
  // The folder of a recorded session is not on this machine, and pi refuses it.
  if (name === 'pi') lines[0] = copy[0]?.replace(copied, chat.id) ?? ''
  await writeFile(own, `${lines.join('\n')}\n`)
  return { session: chat.id, file: own }
}

/** Returns the messages that a client sends before the new prompt, without the ids of the session. */
const leading = (body: ModelBody = {}, ids: readonly string[]): unknown => {
  const text = JSON.stringify(body.messages ?? body.input ?? [])
  const all: unknown = JSON.parse(ids.reduce((rest, id) => rest.replaceAll(id, 'SESSION'), text))
  return (all as readonly object[]).slice(0, -1)
}

interface Installed {
  readonly way: 'verbatim' | 'rendered'
  readonly session: string
  readonly file: string
  readonly lost: readonly Loss[]
}
