// The page: built into dist/ui, from where the server serves it.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'
import { licenses } from './rolldown.config.ts'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** Puts the license of the fonts beside them. */
const fontLicense: Plugin = {
  name: 'font-license',
  generateBundle(_, bundle) {
    if (!Object.keys(bundle).some((file) => file.endsWith('.woff2'))) return
    const source = readFileSync(path('src/ui/fonts/OFL.txt'), 'utf8')
    this.emitFile({ type: 'asset', fileName: 'assets/OFL.txt', source })
  },
}

export default defineConfig({
  root: path('src/ui'),
  // Nothing but the page's own files, and no address but its own origin.
  publicDir: false,
  build: {
    outDir: path('dist/ui'),
    emptyOutDir: true,
    target: 'es2023',
    // A data: URL is a place that the content security policy does not know.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // One file for the first view; what is loaded later comes in files of its own. What pages beside the conversation share is one of them.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'page', tags: ['$initial'] },
            { name: 'looks', test: /src.ui.(?:audit|compare|diff|investigate)/ },
          ],
        },
      },
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [licenses(), fontLicense],
  logLevel: 'warn',
})
