import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const source = fileURLToPath(new URL('../../src', import.meta.url))

/** Each layer, from the bottom up, and the layers that it may import besides itself. `/` holds the entry points at the top of src. */
const layers: Readonly<Record<string, string>> = {
  result: '',
  events: '',
  projections: 'events',
  commands: 'events projections',
  store: 'result events commands',
  'store/memory': 'result events store',
  'store/sqlite': 'result events store',
  'store/eventstoredb': 'result events store',
  'store/postgres': 'result events store',
  'store/blobs': 'result events store',
  'store/whole': 'result events store store/blobs',
  conversation: 'result events projections commands store store/whole',
  'agent/telemetry': '',
  'agent/models': 'events projections agent/telemetry',
  'agent/receipts': 'result events projections store conversation agent/models',
  transfer: 'result events projections commands store store/blobs store/whole conversation agent/receipts',
  recorder:
    'result events projections commands store store/whole conversation agent/models agent/receipts transfer',
  'agent/tools': 'result events agent/models',
  'agent/context': 'result events projections commands store conversation agent/models agent/receipts',
  'agent/turn':
    'result events projections commands store conversation agent/telemetry agent/models agent/receipts agent/tools agent/context',
  'agent/workers': 'result events projections store conversation agent/telemetry agent/models agent/turn',
  catalogue:
    'result events projections commands store store/sqlite store/whole conversation agent/models agent/receipts agent/context',
  audit: 'result events projections store store/whole conversation transfer agent/telemetry agent/receipts',
  api: 'result events store store/memory store/sqlite store/eventstoredb store/postgres store/blobs store/whole conversation transfer recorder agent/models agent/receipts agent/tools agent/context agent/turn agent/workers catalogue audit',
  investigate:
    'result events projections commands store agent/models agent/receipts agent/tools agent/context agent/turn api',
  '/': 'result events projections commands store store/blobs conversation transfer recorder agent/models agent/receipts agent/tools agent/context agent/turn agent/workers catalogue audit api',
  frameworks: 'result events projections commands store conversation transfer recorder api /',
  // A program by itself: nobody's tests may depend on what is tested.
  'testing/messages-api': '',
  'testing/chat-completions': 'testing/messages-api',
  testing: 'events store store/memory agent/models testing/messages-api testing/chat-completions',
  // What a browser runs: the client, which is one file that imports nothing, and the page, which needs of the rest only the core. What the
  // server answers they have as types, from wherever these are: `import type` loads nothing.
  'server/client': '',
  ui: 'agent/receipts investigate / server/client',
  server:
    'result events projections commands store transfer agent/models agent/receipts agent/context agent/turn agent/workers catalogue investigate / ui',
  cli: 'result events projections commands store transfer recorder agent/telemetry agent/context agent/workers catalogue audit api investigate / server',
}
const floors = Object.keys(layers)
const below = (layer: string): readonly string[] => layers[layer]?.split(' ').filter(Boolean) ?? []

/** Packages that only these folders may import; every folder may import the others of `dependencies`. */
const owners: Readonly<Record<string, readonly string[]>> = {
  'node:sqlite': ['store/sqlite', 'store/seal', 'catalogue'],
  '@eventstore/db-client': ['store/eventstoredb'],
  pg: ['store/postgres'],
  '@anthropic-ai/sdk': ['agent/models/anthropic'],
  '@modelcontextprotocol/sdk/server/mcp.js': ['server'],
  '@modelcontextprotocol/sdk/server/stdio.js': ['server'],
  '@ai-sdk/provider': ['frameworks'],
  '@langchain/core/runnables': ['frameworks'],
  '@langchain/langgraph-checkpoint': ['frameworks'],
  '@openai/agents-core': ['frameworks'],
  '@opentelemetry/api': ['agent/telemetry'],
  ai: ['frameworks'],
  openai: ['agent/models/openai'],
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
  'highlight.js': ['ui'],
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

/** What a file imports; of those for browsers, what it loads. */
const importsOf = (file: string): readonly string[] => {
  // The examples in docstrings import what programs import.
  const text = readFileSync(join(source, file), 'utf8').replaceAll(/\/\*\*[\s\S]*?\*\//g, '')
  const loaded = ['ui', 'server/client'].includes(layerOf(file))
    ? text.replace(/^(?:import|export) type\b[^'"]*?from ['"][^'"]+['"]/gm, '')
    : text
  return [
    ...loaded.matchAll(
      /^(?:import|export)\b[^'"]*?from ['"]([^'"]+)['"]|^import ['"]([^'"]+)['"]|import\(['"]([^'"]+)['"]\)/gm,
    ),
  ].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '')
}

const problemsOf = (file: string): readonly string[] =>
  importsOf(file).flatMap((specifier) => {
    const layer = layerOf(file)
    if (!specifier.startsWith('.')) {
      const owner = owners[specifier]
      return owner && !owner.some((folder) => file.startsWith(`${folder}/`))
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

  test('the client loads nothing, and the page of the rest the core, the client, and in a file what makes requests again and tells a marker’s story', () => {
    const loadedBy = (layer: string) =>
      files
        .filter((file) => layerOf(file) === layer)
        .flatMap((file) => importsOf(file).map((name) => join(dirname(file), name)))
        .filter((name) => !name.startsWith(`${layer}/`) && existsSync(join(source, name)))
    expect(loadedBy('server/client')).toEqual([])
    expect(new Set(loadedBy('ui'))).toEqual(
      new Set([
        'core.ts',
        'investigate/later-messages.ts',
        'investigate/marker-story.ts',
        'investigate/terms.ts',
        'agent/receipts/call-steps.ts',
        'agent/receipts/calls.ts',
        'agent/receipts/message-positions.ts',
        'agent/receipts/remade.ts',
        'server/client/api-path.ts',
        'server/client/pause.ts',
        'server/client/sse.ts',
      ]),
    )
  })

  test('what is remembered by object is remembered by memo', () => {
    const remembering = files.filter((file) =>
      /new Weak(?:Map|Set|Ref)\b/.test(readFileSync(join(source, file), 'utf8')),
    )
    expect(remembering).toEqual(['projections/memo.ts'])
  })

  test('what is tried again after a conflict, one function tries again; nobody else but these acts on one', () => {
    const using = (pattern: RegExp) =>
      files.filter((file) => pattern.test(readFileSync(join(source, file), 'utf8'))).toSorted()
    expect(using(/_tag [!=]== 'Conflict'/)).toEqual([
      'agent/workers/serving/serve.ts', // counts it
      'audit/ledger/append.ts', // another sealer has stored the same tiles
      'audit/ledger/sealer.ts', // looks again when it always does
      'conversation/writing/fork.ts', // reads the conversation that is there
      'conversation/writing/handle.ts', // forgets an end only if it is none
      'store/blobs-in-streams.ts', // leaves a blob that is put meanwhile
      'store/conflicts.ts',
      'store/eventstoredb/appender.ts',
      'store/eventstoredb/directory.ts',
      'store/eventstoredb/earlier.ts',
      'testing/contract/writing.ts',
    ])
    expect(using(/\bisTriedAgain\(/)).toEqual(['conversation/writing/handle.ts', 'store/conflicts.ts'])
    expect(using(/\bdespiteConflicts\(/).length).toBeGreaterThan(10)
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
