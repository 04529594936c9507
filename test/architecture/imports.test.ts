import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const source = fileURLToPath(new URL('../../src', import.meta.url))

/** Each layer, and the layers that it may import besides itself. `''` holds the entry points at the top of src. */
const layers: Readonly<Record<string, readonly string[]>> = {
  events: [],
  projections: ['events'],
  commands: ['projections', 'events'],
  import: ['commands', 'projections', 'events'],
  export: ['store', 'projections', 'events'],
  store: ['import', 'commands', 'projections', 'events'],
  'store/memory': ['store', 'events'],
  'store/sqlite': ['store', 'events'],
  'store/eventstoredb': ['store', 'events'],
  context: ['context/anthropic', 'store', 'commands', 'projections', 'events'],
  'context/anthropic': ['context', 'events'],
  testing: ['store', 'store/memory', 'events'],
  cli: ['', 'context', 'export', 'import', 'store', 'commands', 'projections', 'events'],
  '': ['context', 'context/anthropic', 'store', 'import', 'commands', 'projections', 'events'],
}
/** Packages that only these layers may import; every layer may import the others of `dependencies`. */
const owners: Readonly<Record<string, readonly string[]>> = {
  'node:sqlite': ['store/sqlite'],
  '@eventstore/db-client': ['store/eventstoredb'],
  '@anthropic-ai/sdk': ['context/anthropic'],
  commander: ['cli'],
  picocolors: ['cli'],
  'cli-progress': ['cli'],
  'cli-table3': ['cli'],
}
/** The one place that knows every adapter. */
const compositionRoot = 'store/store.ts'

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
)

const layerOf = (file: string): string => {
  const folder = dirname(file)
  if (folder === '.') return ''
  const nested = Object.keys(layers).find(
    (layer) => layer.includes('/') && `${folder}/`.startsWith(`${layer}/`),
  )
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
    const isAllowed = imported === layer || layers[layer]?.includes(imported) === true
    const isComposition = file === compositionRoot && imported.startsWith('store/')
    return isAllowed || isComposition ? [] : [`${file} (${layer}) imports ${target} (${imported})`]
  })

describe('imports point one way', () => {
  test('every file belongs to a layer', () => {
    expect([...new Set(files.map(layerOf))].filter((layer) => !(layer in layers))).toEqual([])
  })

  test('from the outside in, and only adapters know drivers', () => {
    expect(files.flatMap(problemsOf)).toEqual([])
    expect(files.flatMap(importsOf).length).toBeGreaterThan(100)
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
