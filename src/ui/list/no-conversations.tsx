const snippet = `import { openStore } from 'palimpsest'

const store = await openStore('sqlite:agents.db')
const chat = store.conversation('task-1')
await chat.append('Close the strings.')`

const request = `curl -fsS ${location.origin}/api/v1/conversations \\
  -H 'Content-Type: application/json' \\
  -d '{"messages": [{"role": "user", "content": "Close the strings."}]}'`

/** Explains how to add the first conversation. */
export const NoConversations = () => (
  <section class="ways-in">
    <h2>There are no conversations yet</h2>
    <p class="faint">They appear here as soon as there is one.</p>
    <h3>Import sessions of another program</h3>
    <pre>npx palimpsest import ~/.claude/projects/*/*.jsonl</pre>
    <h3>Write one with the library</h3>
    <pre>{snippet}</pre>
    <h3>Or over HTTP</h3>
    <pre>{request}</pre>
  </section>
)
