import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'
import { expect, test } from 'vitest'

// Erasure will seal what an event says: all code reads that through `contentOf` and `messageOf`, where there is one place for it.

const root = fileURLToPath(new URL('../../src/', import.meta.url))

const exempt = new Set([
  // The door.
  'events/events.ts',
  // Checks what is to be recorded.
  'events/accept.ts',
  // The page shows what the server answers; `core.ts` is not in its bundle.
  'ui/conversation/copy.ts',
  'ui/request/reply.tsx',
])

type Node = Readonly<Record<string, unknown>>
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

function* nodesIn(node: Node): Generator<Node> {
  yield node
  for (const child of Object.values(node).flat()) if (isNode(child)) yield* nodesIn(child)
}

const nameOf = (node: unknown): unknown => (isNode(node) ? (node['name'] ?? node['value']) : undefined)
const isContent = (name: unknown): boolean => name === 'content' || name === 'summary'
const isData = (node: unknown): boolean =>
  isNode(node) &&
  (node['type'] === 'MemberExpression'
    ? nameOf(node['property']) === 'data'
    : node['type'] === 'ChainExpression'
      ? isData(node['expression'])
      : nameOf(node) === 'data')

/** Tells whether a pattern takes content out of data: `{ content }`, or `{ data: { content } }` with `inside`. */
const takes = (pattern: unknown, inside: boolean): boolean =>
  isNode(pattern) &&
  pattern['type'] === 'ObjectPattern' &&
  (pattern['properties'] as readonly Node[]).some(({ key, value }) =>
    inside ? nameOf(key) === 'data' && takes(value, false) : isContent(nameOf(key)),
  )

const reads = (node: Node): boolean => {
  switch (node['type']) {
    case 'MemberExpression':
      return isContent(nameOf(node['property'])) && isData(node['object'])
    case 'VariableDeclarator':
      return takes(node['id'], false) && isData(node['init'])
    case 'ObjectPattern':
      return takes(node, true)
    default:
      return false
  }
}

const readsIn = (file: string, text: string): readonly string[] => {
  // Most files need not be parsed.
  if (!/\bdata\b/.test(text) || !/\b(?:content|summary)\b/.test(text)) return []
  return [...nodesIn(parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }) as object as Node)]
    .filter(reads)
    .map(({ start }) => `${file}:${text.slice(0, Number(start)).split('\n').length}`)
}

test.each([
  'event.data.content.map(f)',
  'event?.data.summary',
  'event.data["content"]',
  'const f = ({ data }) => data.content',
  'const f = ({ data: { role, content } }) => content',
  'const { content, origin } = event.data',
  'const { content: said = [] } = event?.data',
])('finds content that is read past the door: %s', (text) => {
  expect(readsIn('x.ts', text)).toHaveLength(1)
})

test.each([
  'contentOf(event).flatMap(({ content }) => content)',
  'const light = { data: { role, content: [] } }',
  'const { origin } = event.data',
  'const { content } = messageOf(event)',
])('lets alone what does not: %s', (text) => {
  expect(readsIn('x.ts', text)).toEqual([])
})

test('nothing but contentOf and messageOf reads the content of an event', () => {
  const files = globSync('**/*.{ts,tsx}', { cwd: root })
  expect(files.length).toBeGreaterThan(800)
  expect(
    files.flatMap((file) => (exempt.has(file) ? [] : readsIn(file, readFileSync(root + file, 'utf8')))),
  ).toEqual([])
})
