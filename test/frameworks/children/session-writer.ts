// Writes a session as the Claude Agent SDK does: each entry goes into Claude Code's own transcript, and after a few of them the batch to
// the session store. Begins with the entries that the store has. Says so after each batch, and ends after `--entries`.
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openStore } from '../../../src/index.ts'
import { sessionStore } from '../../../src/frameworks/claude-agent-sdk.ts'
import { line } from './session-entries.ts'

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    folder: { type: 'string', default: '' },
    entries: { type: 'string', default: '0' },
    name: { type: 'string', default: 'e' },
  },
})
const { url, folder, name } = values
const key = { projectKey: 'p', sessionId: 's' }
const store = await openStore(url)
const sessions = sessionStore(store, { configFolder: folder })
const stored = (await sessions.load(key)) ?? []
const path = join(folder, 'projects', 'p', 's.jsonl')
mkdirSync(join(folder, 'projects', 'p'), { recursive: true })
const own = (text: string): number => text.split('\n').filter((each) => each.includes(`"${name}-`)).length
let next = own(readFileSync(path, { encoding: 'utf8', flag: 'a+' }))
process.stdout.write(`stored ${stored.length}\n`)
let batch = []
while (next < Number(values.entries)) {
  const entry = line(name, next++)
  appendFileSync(path, `${JSON.stringify(entry)}\n`)
  batch.push(entry)
  if (next % 3 !== 0) continue
  await sessions.append(key, batch)
  batch = []
  process.stdout.write(`at ${next}\n`)
}
if (batch.length > 0) await sessions.append(key, batch)
await sessions.settled()
await store.close()
