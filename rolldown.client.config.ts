// The client of a server: one file that imports nothing, for browsers and Node.
import { defineConfig } from 'rolldown'

export default defineConfig({
  input: { 'server/client/index': 'src/server/client/index.ts' },
  platform: 'browser',
  output: { comments: false },
})
