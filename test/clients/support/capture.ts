import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientsFolder, type ClientName } from '../programs.ts'

/** The folder of what clients sent and wrote in their scripted sessions. It is beside the clients: it holds their texts. */
export const capturesFolder = (): string => join(clientsFolder(), 'captures')

interface Request {
  readonly path: string
  readonly status: number
  readonly body: unknown
}

/** Keeps the requests of a scripted session and its file for `shapes.ts`, with `npm run test:clients -- --fixtures` only. */
export const capture = (name: ClientName, requests: readonly Request[], session: string): void => {
  if (process.env['PALIMPSEST_FIXTURES'] === undefined) return
  const folder = capturesFolder()
  mkdirSync(folder, { recursive: true })
  const sent = requests.map(({ path, status, body }) => ({ path, status, body }))
  writeFileSync(join(folder, `${name}.requests.json`), JSON.stringify(sent))
  writeFileSync(join(folder, `${name}.session`), session)
}
