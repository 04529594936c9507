import { Command } from '../audit/parts.tsx'
import { copyText } from '../copy-text.ts'
import { Sheet } from '../sheet.tsx'

// Ways to fill a store. The page never runs a command: the programs' sessions are on the user's machine, which the server may not be on.

interface WaysProps {
  /** URL of the store, without credentials; undefined while it is loading. */
  readonly store: string | undefined
}

const isInMemory = (store: string | undefined): store is undefined => store?.startsWith('memory:') ?? true

/** Returns the option that names the store on the command line; empty for a store that only this server can reach. */
const optionFor = (store: string | undefined): string =>
  isInMemory(store)
    ? ''
    : ` --store ${/^[\w@%+=:,./-]+$/.test(store) ? store : `'${store.replaceAll("'", String.raw`'\''`)}'`}`

const snippetFor = (
  store: string | undefined,
): string => `const store = await openStore('${isInMemory(store) ? 'sqlite:agents.db' : store}')
const chat = store.conversation('task-1')
await chat.append({ role: 'user', content: 'Why does the parser fail?' })
await chat.turn({ client: new Anthropic(), model: 'claude-opus-5-5', tools })`

const request = `curl -fsS ${location.origin}/api/v1/conversations \\
  -H 'Content-Type: application/json' \\
  -d '{"messages": [{"role": "user", "content": "Why does the parser fail?"}]}'`

/** Shows three ways to fill the store, each with its command. */
const Ways = ({ store }: WaysProps) => (
  <>
    <section>
      <h3>Import what is here</h3>
      <p>
        Sessions of Claude Code, Codex, pi, opencode, Copilot CLI and Gemini CLI on this machine. The first
        command lists them.
      </p>
      <Command text={`palimpsest import${optionFor(store)}`} />
      <Command text={`palimpsest import ~/.claude/projects${optionFor(store)}`} />
      <Command text={`palimpsest import --last --follow${optionFor(store)}`} />
    </section>
    <section>
      <h3>Record an agent</h3>
      <p>One that you have, as it is: each request to its model is recorded.</p>
      <Command text={`palimpsest record${optionFor(store)} -- claude`} />
      <p>Or one of your own, with the library (docs/turns.md in the package) or over HTTP.</p>
      <Snippet name="the code" text={snippetFor(store)} />
      <Snippet name="the request" text={request} />
    </section>
    <section>
      <h3>Look around first</h3>
      <p>A session of an agent that corrects a statement: condensed, rewound, and continued.</p>
      <Command text={`palimpsest start${optionFor(store)}`} />
    </section>
  </>
)

const Snippet = ({ name, text }: { readonly name: string; readonly text: string }) => (
  <div class="snippet">
    <pre tabIndex={0}>{text}</pre>
    <button type="button" class="quiet" aria-label={`Copy ${name}`} onClick={() => copyText(text, 'Copied')}>
      copy
    </button>
  </div>
)

/** Explains how to add the first conversation. */
export const NoConversations = ({ store }: WaysProps) => (
  <div class="ways-in">
    <section>
      <h2>Nothing kept yet</h2>
      <p>Three ways to fill the store. Nothing leaves this machine. What comes in appears here at once.</p>
      {store !== undefined && isInMemory(store) && (
        <p>
          This store is in the memory of its server: only requests over HTTP reach it. The commands use a
          file.
        </p>
      )}
    </section>
    <Ways store={store} />
  </div>
)

/** Shows the same ways for a store that has conversations. */
export const AddSheet = ({ store }: WaysProps) => (
  <Sheet title="Add conversations" class="wide">
    <div class="ways-in in-sheet">
      <Ways store={store} />
    </div>
  </Sheet>
)
