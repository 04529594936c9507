import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const source = fileURLToPath(new URL('../../src', import.meta.url))

/** Each layer, from the bottom up, and the layers that it may import besides itself. `/` holds the entry points at the top of src. */
const layers: Readonly<Record<string, string>> = {
  result: '',
  memo: '',
  events: '',
  projections: 'memo events',
  commands: 'events projections',
  store: 'result events commands',
  'store/memory': 'result events store',
  'store/sqlite': 'result events store',
  'store/eventstoredb': 'result events store',
  'store/blobs': 'result events store',
  'store/whole': 'result events store store/blobs',
  history: 'result memo events projections commands store store/whole',
  formats: 'events projections commands history',
  jobs: 'result events projections commands store store/blobs store/whole history formats',
  conversation: 'result events projections commands store history jobs',
  telemetry: '',
  models: 'events projections telemetry',
  'models/streaming': 'events models',
  'models/anthropic': 'events models models/streaming',
  'models/openai': 'memo events projections models models/streaming',
  receipts: 'result memo events projections store conversation models models/anthropic models/openai',
  ledger: 'result events store store/whole history conversation telemetry receipts',
  'context/tokens': 'result memo events projections store conversation models models/anthropic',
  evidence: 'result memo events projections store formats conversation ledger receipts',
  catalogue: 'result events projections commands store store/sqlite history receipts context/tokens',
  'context/policy': 'events projections commands context/tokens',
  'context/summary':
    'result events projections commands store history conversation models receipts context/tokens context/policy',
  tools: 'result events models',
  'turn/spending': 'result events projections commands store conversation models receipts context/tokens',
  'turn/stream': 'events models turn/spending',
  'turn/results': 'result events commands conversation telemetry models context/policy tools turn/stream',
  'turn/calls':
    'result events projections commands store history conversation models receipts tools turn/stream turn/results',
  'turn/say': 'result events projections commands store history conversation turn/calls',
  'turn/claims': 'result events projections commands store history conversation models turn/calls turn/say',
  turn: 'result events projections commands store history conversation telemetry models models/anthropic receipts tools context/tokens context/policy context/summary turn/spending turn/stream turn/results turn/calls turn/say turn/claims',
  workers:
    'result memo events store history conversation telemetry models turn turn/spending turn/calls turn/stream turn/say turn/results turn/claims',
  api: 'result events evidence catalogue ledger store store/memory store/sqlite store/eventstoredb store/blobs store/whole history formats jobs conversation receipts tools context/tokens context/summary turn turn/spending turn/stream turn/results turn/calls turn/say workers',
  investigate:
    'result memo events projections commands store conversation models models/anthropic receipts context/tokens context/policy tools turn turn/spending turn/stream turn/results turn/calls api',
  '/': 'result events evidence catalogue ledger projections commands store history formats jobs conversation models models/anthropic models/openai receipts context/tokens context/policy context/summary tools turn turn/spending turn/stream turn/results turn/calls turn/say turn/claims workers api',
  // A program by itself: nobody's tests may depend on what is tested.
  'testing/messages-api': '',
  'testing/chat-completions': 'testing/messages-api',
  testing: 'events models store store/memory api testing/messages-api testing/chat-completions',
  // What a browser runs: of the rest only the core, which needs no Node.
  ui: '/ receipts',
  server:
    'result events catalogue projections commands store formats context/tokens receipts turn/spending turn/say turn/calls turn/stream workers investigate / ui',
  // Of the others only their types: it is one file that imports nothing.
  client: 'events investigate server /',
  cli: 'result events ledger evidence catalogue projections commands store telemetry formats context/tokens api investigate / server',
}
const floors = Object.keys(layers)
const below = (layer: string): readonly string[] => layers[layer]?.split(' ').filter(Boolean) ?? []

/** Packages that only these layers may import; every layer may import the others of `dependencies`. */
const owners: Readonly<Record<string, readonly string[]>> = {
  'node:sqlite': ['store/sqlite', 'catalogue'],
  '@eventstore/db-client': ['store/eventstoredb'],
  '@anthropic-ai/sdk': ['models/anthropic'],
  '@opentelemetry/api': ['telemetry'],
  openai: ['models/openai'],
  hono: ['server'],
  '@hono/node-server': ['server'],
  pino: ['server'],
  commander: ['cli'],
  picocolors: ['cli'],
  'cli-progress': ['cli'],
  'cli-table3': ['cli'],
  preact: ['ui'],
  'preact/hooks': ['ui'],
  '@tanstack/virtual-core': ['ui'],
  marked: ['ui'],
  dompurify: ['ui'],
}
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /\.tsx?$/.test(file),
)

const layerOf = (file: string): string => {
  const folder = dirname(file)
  if (folder === '.') return '/'
  const nested = floors.find((layer) => layer.includes('/') && `${folder}/`.startsWith(`${layer}/`))
  return nested ?? (folder.split('/')[0] as string)
}

const importsOf = (file: string): readonly string[] => {
  const text = readFileSync(join(source, file), 'utf8')
  return [
    ...text.matchAll(
      /^(?:import|export)\b[^'"]*?from ['"]([^'"]+)['"]|^import ['"]([^'"]+)['"]|import\(['"]([^'"]+)['"]\)/gm,
    ),
  ].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '')
}

const problemsOf = (file: string): readonly string[] =>
  importsOf(file).flatMap((specifier) => {
    const layer = layerOf(file)
    if (!specifier.startsWith('.')) {
      const owner = owners[specifier]
      return owner && !owner.includes(layer)
        ? [`${file} imports ${specifier}, which is ${owner.join(', ')}'s`]
        : []
    }
    const target = relative(source, join(source, dirname(file), specifier))
    const imported = layerOf(target)
    const isAllowed = imported === layer || below(layer).includes(imported)
    return isAllowed ? [] : [`${file} (${layer}) imports ${target} (${imported})`]
  })

describe('imports point one way', () => {
  test('every file belongs to a layer', () => {
    expect([...new Set(files.map(layerOf))].filter((layer) => !(layer in layers))).toEqual([])
  })

  test('a layer imports only layers below it, so no two folders need each other', () => {
    const upwards = floors.flatMap((layer, floor) =>
      below(layer).flatMap((other) =>
        floors.indexOf(other) < floor && other in layers ? [] : [`${layer} -> ${other}`],
      ),
    )
    expect(upwards).toEqual([])
  })

  test('no two files need each other', () => {
    const state = new Map<string, 'open' | 'done'>()
    const circles: string[] = []
    const visit = (file: string, from: readonly string[]): void => {
      if (state.get(file) === 'open') circles.push([...from.slice(from.indexOf(file)), file].join(' -> '))
      if (state.has(file)) return
      state.set(file, 'open')
      for (const specifier of importsOf(file).filter((name) => name.startsWith('.')))
        visit(relative(source, join(source, dirname(file), specifier)), [...from, file])
      state.set(file, 'done')
    }
    for (const file of files) visit(file, [])
    expect(circles).toEqual([])
  })

  test('from the outside in, and only adapters know drivers', () => {
    expect(files.flatMap(problemsOf)).toEqual([])
    expect(files.flatMap(importsOf).length).toBeGreaterThan(100)
  })

  test('the page needs of the rest only the core, and in a file what makes requests again', () => {
    const others = files
      .filter((file) => layerOf(file) === 'ui')
      .flatMap((file) => importsOf(file).map((name) => join(dirname(file), name)))
      .filter((name) => !name.startsWith('ui/') && existsSync(join(source, name)))
    expect(new Set(others)).toEqual(new Set(['core.ts', 'receipts/calls.ts', 'receipts/remade.ts']))
  })

  test('what is remembered by object is remembered by memo', () => {
    const remembering = files.filter((file) =>
      /new Weak(?:Map|Set|Ref)\b/.test(readFileSync(join(source, file), 'utf8')),
    )
    expect(remembering).toEqual(['memo/memo.ts'])
  })

  test('only the face of the renderer is read outside its folder, which is copied for a new version', () => {
    const folderOf = (file: string): string | undefined =>
      /^projections\/render(?:ers\/\d+)?(?=\/)/.exec(file)?.[0]
    const read = files.flatMap((file) =>
      importsOf(file).flatMap((specifier) => {
        const target = relative(source, join(source, dirname(file), specifier))
        const folder = folderOf(target)
        const isOutside = specifier.startsWith('.') && folder !== undefined && folder !== folderOf(file)
        return isOutside ? [`${file} -> ${target}`] : []
      }),
    )
    expect(read.filter((line) => !line.endsWith('/renderer.ts'))).toEqual([])
    expect(read.some((line) => line.endsWith('projections/renderers/1/renderer.ts'))).toBe(true)
    expect(read.length).toBeGreaterThan(10)
  })

  test('deep imports of fp-ts name the file: the short form dies in native ESM', () => {
    const short = files.flatMap((file) =>
      importsOf(file).filter(
        (name) => /^fp-ts(\/(?!lib\/)|$)/.test(name) || /^fp-ts\/lib\/.*(?<!\.js)$/.test(name),
      ),
    )
    expect(short).toEqual([])
  })
})
