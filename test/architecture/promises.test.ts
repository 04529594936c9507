import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'
import { expect, test } from 'vitest'

// A promise that rejects before somebody looks at it ends the whole run as an unhandled rejection: on a slow machine, another await takes
// long enough. So a test looks at a promise that is to be rejected where it makes it, and makes those of a list one by one.

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
const field = (node: Node | undefined, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined | null)?.[name], node)
const nodeIn = (node: Node | undefined, ...path: readonly string[]): Node | undefined => {
  const value = field(node, ...path)
  return isNode(value) ? value : undefined
}
const nodesIn = (node: Node | undefined, name: string): readonly Node[] => {
  const list = field(node, name)
  return Array.isArray(list) ? list.filter(isNode) : []
}
const childrenOf = (node: Node): readonly Node[] => Object.values(node).flat().filter(isNode)
const isFunction = ({ type }: Node): boolean => /^(?:Arrow)?Function(?:Expression|Declaration)?/.test(type)

function* within(node: Node, isEntered: (child: Node) => boolean = () => true): Generator<Node> {
  for (const child of childrenOf(node)) {
    yield child
    if (isEntered(child)) yield* within(child, isEntered)
  }
}

const namesIn = (pattern: Node | undefined): readonly string[] =>
  pattern
    ? [pattern, ...within(pattern)].flatMap((node) => (node.type === 'Identifier' ? [nameOf(node)] : []))
    : []
const nameOf = (node: Node | undefined): string =>
  node?.type === 'Identifier' ? String(field(node, 'name')) : ''

/** The expression that is looked at: `p` in `await p`, `expect(p).rejects` and `p.catch(…)`. */
const lookedAt = (node: Node): Node | undefined => {
  if (node.type === 'AwaitExpression') return nodeIn(node, 'argument')
  if (node.type !== 'MemberExpression') return undefined
  const way = String(field(node, 'property', 'name'))
  if (way === 'catch') return nodeIn(node, 'object')
  const isExpected =
    nameOf(nodeIn(node, 'object', 'callee')) === 'expect' && /^(?:rejects|resolves)$/.test(way)
  return isExpected ? argumentsOf(nodeIn(node, 'object'))[0] : undefined
}
const argumentsOf = (call: Node | undefined): readonly Node[] => nodesIn(call, 'arguments')
const looksAt = (node: Node | undefined, names: readonly string[]): boolean =>
  node !== undefined && [...within(node)].some((each) => names.includes(nameOf(lookedAt(each))))

/** Loops and tables of promises that were all made before the first of them is looked at. */
const lists = (node: Node): boolean => {
  if (node.type === 'ForOfStatement') return looksAt(nodeIn(node, 'body'), namesIn(nodeIn(node, 'left')))
  const made = nodeIn(node, 'callee')
  if (node.type !== 'CallExpression' || field(made, 'callee', 'property', 'name') !== 'each') return false
  const run = argumentsOf(node).find(isFunction)
  return looksAt(run, nodesIn(run, 'params').flatMap(namesIn))
}

/** Promises of a function that are to be rejected, and that nothing mentions before another await. */
const left = (scope: Node, text: string): readonly Node[] => {
  if (!isFunction(scope) && scope.type !== 'Program') return []
  if (!/\.(?:rejects|catch)\b/.test(text.slice(scope.start, scope.end))) return []
  const own = [...within(scope, (child) => !isFunction(child))]
  return own.filter((node) => {
    const init = nodeIn(node, 'init')
    if (node.type !== 'VariableDeclarator' || !init || init.type === 'AwaitExpression') return false
    const after = text.slice(node.end, scope.end)
    return namesIn(nodeIn(node, 'id')).some((name) => {
      if (!new RegExp(`\\bexpect\\(${name}\\)\\s*\\.rejects\\b|\\b${name}\\s*\\.catch\\(`).test(after))
        return false
      const mention = node.end + after.search(new RegExp(`\\b${name}\\b`))
      return own.some(
        ({ type, start, end }) => type === 'AwaitExpression' && start >= node.end && end < mention,
      )
    })
  })
}

const problemsIn = (file: string, text: string): readonly string[] => {
  const program: unknown = parseAst(text, { lang: 'ts' })
  if (!isNode(program)) throw new Error(`${file} cannot be parsed`)
  const nodes = [program, ...within(program)]
  return [...nodes.filter(lists), ...nodes.flatMap((node) => left(node, text))].map(
    ({ start }) => `${file}:${text.slice(0, start).split('\n').length}`,
  )
}

test.each([
  'for (const read of [chat.full(), chat.render()]) await expect(read).rejects.toThrow()',
  'const all = ids.map((id) => chat.full(id))\nfor (const one of all) await one',
  'for (const [name, read] of Object.entries({ full: chat.full() })) expect(await read).toBe(name)',
  'test.each([chat.full()])("x", async (read) => { await expect(read).rejects.toThrow() })',
  'const read = chat.full()\nawait chat.close()\nawait expect(read).rejects.toThrow()',
  'async () => { const read = chat.full(); await close(); return read.catch(String) }',
])('finds a promise that may reject before it is looked at: %s', (text) => {
  expect(problemsIn('x', text)).toHaveLength(1)
})

test.each([
  'for (const read of [() => chat.full()]) await expect(read()).rejects.toThrow()',
  'const all = ids.map((id) => chat.full(id))\nawait Promise.all(all)',
  'const refused = failure(chat.full())\nawait chat.close()\nexpect(await refused).toMatchObject({})',
  'const read = chat.full()\nawait expect(read).rejects.toThrow()\nawait expect(read).rejects.not.toThrow("x")',
])('lets alone what is looked at where it is made: %s', (text) => {
  expect(problemsIn('x', text)).toEqual([])
})

test('no promise of a test may reject before it is looked at', () => {
  const root = fileURLToPath(new URL('../', import.meta.url))
  const files = globSync('**/*.ts', { cwd: root })
  expect(files.length).toBeGreaterThan(300)
  expect(files.flatMap((file) => problemsIn(file, readFileSync(root + file, 'utf8')))).toEqual([])
})
