// The package's JavaScript. In a few files it loads in half the time; the declarations beside it are tsc's.
import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'rolldown'

export default defineConfig({
  input: {
    index: 'src/index.ts',
    fp: 'src/fp.ts',
    core: 'src/core.ts',
    audit: 'src/audit.ts',
    recorder: 'src/recorder.ts',
    'investigate/index': 'src/investigate/index.ts',
    'frameworks/ai-sdk': 'src/frameworks/ai-sdk.ts',
    'frameworks/claude-agent-sdk': 'src/frameworks/claude-agent-sdk.ts',
    'frameworks/langgraph': 'src/frameworks/langgraph.ts',
    'frameworks/openai-agents': 'src/frameworks/openai-agents.ts',
    'testing/index': 'src/testing/index.ts',
    'cli/main': 'src/cli/main.ts',
    // Beside the chunk of what starts it.
    'chunks/read-thread': 'src/transfer/read-thread.ts',
    'chunks/record-thread': 'src/cli/record/record-thread.ts',
    'chunks/spool-thread': 'src/cli/record/spool-thread.ts',
  },
  platform: 'node',
  // The first loads a lot, and only when a store needs it; the others are the program's own, so that both use one copy.
  external: /^@(eventstore|langchain|opentelemetry|sigstore)\/|^pg$/,
  // The same functions as modules, of which only those that are used are taken.
  resolve: { alias: { 'fp-ts/lib': 'fp-ts/es6' } },
  output: {
    chunkFileNames: 'chunks/[name].js',
    comments: false,
    // Names stay what they are in the sources: there are no source maps, and stacks tell where.
    minifyInternalExports: false,
    // A module goes, with all that it needs, to the first that wants it. Everything else is loaded when it is used.
    codeSplitting: {
      groups: [
        // A module of the library's chunk would come after what that imports.
        { name: 'needed-node', test: /src\/needed-node\.ts$/, priority: 4 },
        { name: 'core', test: /src\/core\.ts$/, priority: 3 },
        {
          name: 'library',
          test: /src\/(index|transfer\/formats\/errors|events\/call-name|result\/once|store\/sqlite-files)\.ts$/,
          priority: 2,
        },
        { name: 'import', test: /src\/transfer\/import\.ts$/, priority: 1 },
        { name: 'tokens', test: /src\/agent\/context\/tokens\/history\.ts$/, priority: 2 },
        { name: 'context', test: /src\/agent\/context\/policy\/policy\.ts$/, priority: 1 },
        { name: 'investigate', test: /src\/investigate\/index\.ts$/, priority: 1 },
        { name: 'cli', test: /src\/cli\/run\.ts$/, priority: 0 },
      ],
    },
  },
  plugins: [builtins(), licenses()],
})

/** Takes from these two only what is used: an import asks for each of their exports, and Node loads some when they are asked for. */
function builtins(): Plugin {
  return {
    name: 'builtins',
    renderChunk: (code) =>
      code.replaceAll(
        /^import \{(.*)\} from "(node:(?:crypto|fs|util))";$/gm,
        (_, names: string, module: string) =>
          `const {${names.replaceAll(' as ', ': ')}} = globalThis.process.getBuiltinModule("${module}");`,
      ),
  }
}

/** Puts the licenses of the packages whose code is taken beside it. */
export function licenses(): Plugin {
  return {
    name: 'licenses',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
      const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? [])
      const source = [...new Set(folders)].toSorted().map(licenseIn).join('\n\n')
      this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY-LICENSES.txt', source })
    },
  }
}

function licenseIn(folder: string): string {
  const read = (file: string): string => readFileSync(`${folder}/${file}`, 'utf8')
  const { name, version } = JSON.parse(read('package.json')) as Package
  const files = readdirSync(folder).filter((file) => /^(licen[sc]e|notice)/i.test(file))
  if (files.length === 0) throw new Error(`${folder} has no license that could be passed on`)
  return [`${name} ${version}`, ...files.map(read)].join('\n\n')
}

interface Package {
  readonly name: string
  readonly version: string
}
