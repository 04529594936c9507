// The page as one script and one style sheet: `palimpsest export --format html` puts them into a file with a conversation.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import page from './vite.ui.config.ts'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

export default defineConfig({
  ...page,
  // What the core needs of Node is left out, as nothing here needs it: that is no warning.
  logLevel: 'error',
  build: {
    ...page.build,
    outDir: path('dist/ui-file'),
    cssCodeSplit: false,
    rolldownOptions: {
      input: path('src/ui/file.tsx'),
      // Of the core, only what answers.
      treeshake: { moduleSideEffects: (id) => !id.includes('/src/') || id.includes('/src/ui/') },
      output: { codeSplitting: false, entryFileNames: 'file.js', assetFileNames: 'file[extname]' },
    },
  },
})
