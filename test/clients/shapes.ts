// Makes the fixtures of scripted sessions from what the clients sent and wrote: npm run test:clients -- --fixtures.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ClientName, programs } from './programs.ts'
import { capturesFolder } from './support/capture.ts'
import {
  digest,
  type Fields,
  formsOf,
  isFields,
  type Json,
  sha,
  withoutBreakpoints,
} from './support/message-hash.ts'
import { isName, kept, reworded } from './support/reword.ts'

const fixtures = new URL('../samples/clients/', import.meta.url).pathname
/** Returns the JSON in a text, undefined if it is something else. */
const parsedIn = (text: string): Json | undefined => {
  if (!/^[{[]/.test(text)) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

// Ids of sessions, messages, calls and devices; each becomes a made-up one of the same form.
const ids =
  /\b(?:toolu|msg|req|resp|ses|prt|call|rs|fco?|retained)_(?=[\w-]*[A-Z\d])[\w-]{8,}|(?<![\da-z])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![\da-z])|(?<!\w)[\da-f]{16,64}(?!\w)|(?<!\w)(?=\d*[a-f])(?=[a-f]*\d)[\da-f]{8}(?!\w)/g

const createRewrite = () => {
  const made = new Map<string, string>()
  const hashes = new Map<string, string>()
  const madeUp = (id: string): string => {
    const known = hashes.get(id) ?? made.get(id)
    if (known !== undefined) return known
    const count = made.size + 1
    const [prefix] = /^[a-z]+_/.exec(id) ?? ['']
    const next = /^[\da-f]{8}-/.test(id)
      ? `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`
      : prefix === ''
        ? sha(`id ${count}`).slice(0, id.length)
        : prefix + String(count).padStart(id.length - prefix.length, '0')
    made.set(id, next)
    return next
  }
  const rewriteText = (text: string): string => {
    const renamed = text
      .replaceAll(/\/tmp\/palimpsest-client-\w+/g, '/home/ann')
      .replaceAll(/palimpsest-client-\w+/g, 'home-ann')
      .replaceAll(ids, madeUp)
    const parsed = parsedIn(text)
    return parsed === undefined ? reworded(renamed) : JSON.stringify(rewrite(parsed))
  }
  const rewrite = (value: Json, field = ''): Json => {
    if (typeof value === 'string')
      // Sealed by our own stand-in, which checks it.
      return field === 'encrypted_content' ? value : rewriteText(value)
    if (Array.isArray(value)) return value.map((each) => rewrite(each as Json))
    if (isFields(value))
      return Object.fromEntries(
        Object.entries(value).map(([name, each]) => [
          name.startsWith('$') ? name : rewriteText(name),
          rewrite(each, name),
        ]),
      )
    return value
  }
  /** Learns the hashes of what is rewritten, so that a hash of it becomes the hash of the new. */
  const learn = (value: Fields): void => {
    const plain = withoutBreakpoints(value)
    const [before, after] = [formsOf(plain), formsOf(rewrite(plain) as Fields)]
    for (const [index, form] of before.entries()) hashes.set(digest(form), digest(after[index] ?? form))
  }
  return { rewrite, learn, replaced: (): readonly string[] => [...made.keys()] }
}

/** Makes tools few and short: those that are called, with the properties that they need. */
const called = new Set<Json | undefined>('Agent Bash Read Edit bash read edit task exec_command'.split(' '))
/** System prompts, of which six lines are enough. */
const texts = new Set(['system', 'systemPrompt', 'base_instructions', 'instructions', 'sections'])
/** Lists in session files of which two are enough. */
const longLists = new Set(['betas', 'systemPrompt', 'names', 'digests', 'addedNames', 'addedLines'])
const trimmed = (value: Json, field = ''): Json => {
  if (field === 'tools' && Array.isArray(value))
    return (value as readonly Json[])
      .filter((tool) => !isFields(tool) || called.has(tool['name']))
      .map((tool) => trimmed(tool))
  // A copy of the tool beside its name.
  if (field === 'schema') return {}
  if (longLists.has(field) && Array.isArray(value)) return value.slice(0, 2) as readonly Json[]
  if (field === 'description' && typeof value === 'string') return value.split(/\s+/).slice(0, 2).join(' ')
  if (typeof value === 'string' && texts.has(field)) return value.split('\n').slice(0, 6).join('\n')
  if (Array.isArray(value)) return value.map((each) => trimmed(each as Json, texts.has(field) ? field : ''))
  if (texts.has(field) && isFields(value) && typeof value['text'] === 'string')
    return { ...value, text: trimmed(value['text'], field) }
  if (!isFields(value)) return value
  const { properties, required } = value
  const needed = Array.isArray(required) && isFields(properties) ? (required as readonly Json[]) : undefined
  const fewer = needed && {
    properties: Object.fromEntries(
      Object.entries(properties as Fields).filter(([name]) => needed.includes(name)),
    ),
  }
  return Object.fromEntries(
    Object.entries({ ...value, ...fewer }).map(([name, each]) => [name, trimmed(each, name)]),
  )
}

/** Kinds of lines that are for the display only, of which one is enough. */
const displayed = new Set<Json | undefined>([
  'cost-state',
  'tools-used',
  'token_usage_record',
  'item_completed',
  'thread_settings_applied',
])
const withFewer = (lines: readonly Json[]): readonly Json[] => {
  const seen = new Set<Json | undefined>()
  return lines.filter((line) => {
    const payload = isFields(line) ? line['payload'] : undefined
    const kind = [
      isFields(payload) ? payload['type'] : undefined,
      isFields(line) ? line['type'] : undefined,
    ].find((each) => displayed.has(each))
    const isSeen = seen.has(kind)
    if (kind !== undefined) seen.add(kind)
    return !isSeen
  })
}

/** Lists every value once: requests repeat their beginnings. */
const createTable = () => {
  const rows: Json[] = []
  const places = new Map<string, number>()
  const place = (value: Json): Json => {
    const text = JSON.stringify(value)
    const at = places.get(text) ?? rows.push(value) - 1
    places.set(text, at)
    return { $: at }
  }
  return { rows, place }
}

/** Returns each six words in a row that are not from the script. */
const runsIn = (value: Json): readonly string[] =>
  textsIn(value)
    .flatMap((text) => (isName(text) ? [] : text.split(kept)))
    .flatMap((part) => {
      const all = part.toLowerCase().match(/\p{L}[\p{L}\p{N}]*/gu) ?? []
      return all.slice(5).map((_, index) => all.slice(index, index + 6).join(' '))
    })

const textsIn = (value: Json): readonly string[] =>
  typeof value === 'string'
    ? textsOfText(value)
    : Array.isArray(value)
      ? (value as readonly Json[]).flatMap(textsIn)
      : isFields(value)
        ? Object.values(value).flatMap(textsIn)
        : []

const textsOfText = (text: string): readonly string[] => {
  const parsed = parsedIn(text)
  return parsed === undefined ? [text] : textsIn(parsed)
}

const linesOf = (text: string): readonly Json[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Json)

const shape = (name: ClientName): void => {
  const read = (file: string): string => readFileSync(join(capturesFolder(), `${name}.${file}`), 'utf8')
  const requests = JSON.parse(read('requests.json')) as readonly (Fields & { readonly body: Fields })[]
  const isDocument = name === 'opencode'
  const lines = isDocument ? [JSON.parse(read('session')) as Json] : linesOf(read('session'))
  const { rewrite, learn, replaced } = createRewrite()
  const each = (list: Json | undefined): readonly Fields[] =>
    Array.isArray(list) ? (list as readonly Json[]).filter(isFields) : []

  for (const { body } of requests) for (const message of each(body['messages'])) learn(message)
  for (const line of lines.filter(isFields)) if (isFields(line['message'])) learn(line['message'])
  const shapes = new Map<Json | undefined, string>()
  for (const line of lines.filter(isFields))
    if (isFields(line['shape'])) shapes.set(line['shapeHash'], digest(rewrite(trimmed(line['shape']))))

  const table = createTable()
  const sent = requests.map(({ path, status, body }) => {
    const short = Object.entries(rewrite(trimmed(body)) as Fields).map(([field, value]) => {
      const isList = (field === 'messages' || field === 'input') && Array.isArray(value)
      if (isList) return [field, (value as readonly Json[]).map(table.place)]
      return [field, typeof value === 'object' && value !== null ? table.place(value) : value]
    })
    return { path: path ?? '', status: status ?? 0, body: Object.fromEntries(short) as Fields }
  })
  const written = withFewer(lines).map((line) => {
    if (!isFields(line)) return line
    const next = rewrite(trimmed(line)) as Fields
    const hash = shapes.get(line['shapeHash'])
    return hash === undefined ? next : { ...next, shapeHash: hash }
  })
  const theirs = new Set(runsIn([...requests, ...lines]))
  const leak = runsIn([...table.rows, ...sent, ...written]).find((run) => theirs.has(run))
  if (leak !== undefined) throw new Error(`The fixture of ${name} would repeat a text of the client: ${leak}`)

  const rows = (list: readonly Json[]): string => list.map((row) => JSON.stringify(row)).join(',\n')
  const text = `{"values":[\n${rows(table.rows)}\n],"requests":[\n${rows(sent)}\n]}\n`
  const session = written.map((line) => JSON.stringify(line)).join('\n')
  const left = replaced().find((id) => text.includes(id) || session.includes(id))
  if (left !== undefined) throw new Error(`The fixture of ${name} would repeat an id: ${left}`)
  writeFileSync(join(fixtures, `${name}.requests.json`), text)
  writeFileSync(join(fixtures, `${name}.session.${isDocument ? 'json' : 'jsonl'}`), `${session}\n`)
  process.stdout.write(`${name}: ${text.length + session.length} bytes\n`)
}

mkdirSync(fixtures, { recursive: true })
for (const name of Object.keys(programs) as ClientName[])
  if (existsSync(join(capturesFolder(), `${name}.requests.json`))) shape(name)
