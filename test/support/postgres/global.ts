import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeFolder } from './programs.ts'

/** Gives the workers of a run a folder, and ends the server that one of them has started. */
export default (): (() => Promise<void>) => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-run-'))
  process.env['PALIMPSEST_TEST_POSTGRES_FOLDER'] = folder
  return async () => {
    const ready = join(folder, 'ready')
    if (existsSync(ready)) {
      const server = JSON.parse(readFileSync(ready, 'utf8')) as { readonly folder: string }
      const pid = Number(readFileSync(join(server.folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
      process.kill(pid, 'SIGQUIT')
      while (existsSync(`/proc/${pid}`)) await new Promise((resolve) => setTimeout(resolve, 20))
      removeFolder(server.folder)
    }
    removeFolder(folder)
  }
}
