import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { externalUrl } from './programs.ts'
import { owner, startPostgres } from './server.ts'

/** The name of the environment variable with the folder in which the workers of a run tell each other of their server. */
const folderVariable = 'PALIMPSEST_TEST_POSTGRES_FOLDER'

/** For what is to succeed: a busy machine may take this long for one answer, in milliseconds. */
export const patientPostgres = '&attempt=60000&patience=120000&timeout=60000'

let known: Promise<string> | undefined

/** The beginning of the URLs of all stores: the server is started by the first test of a run that needs it. */
const base = (): Promise<string> =>
  (known ??= (async () => {
    if (externalUrl !== undefined) return externalUrl
    const folder = process.env[folderVariable]
    if (folder === undefined) throw new Error(`${folderVariable} is not set: the run has no global setup`)
    const ready = join(folder, 'ready')
    const failed = join(folder, 'failed')
    try {
      mkdirSync(join(folder, 'starting'))
      const server = await startPostgres()
      writeFileSync(`${ready}.new`, JSON.stringify({ port: server.port, folder: server.folder }))
      renameSync(`${ready}.new`, ready)
    } catch (error) {
      const isOthers = Reflect.get(Object(error), 'code') === 'EEXIST'
      if (!isOthers) writeFileSync(failed, String(error))
      if (!isOthers) throw error
    }
    while (!existsSync(ready)) {
      if (existsSync(failed)) throw new Error(readFileSync(failed, 'utf8'))
      await sleep(20)
    }
    const { port } = JSON.parse(readFileSync(ready, 'utf8')) as { readonly port: number }
    return `postgres://${owner}@127.0.0.1:${port}/postgres`
  })())

/** A schema that nobody else has. */
export const newSchema = (): string => `t_${randomUUID().replaceAll('-', '').slice(0, 20)}`

/** The URL of a store that does not exist yet, on the server of the run. */
export const postgresUrl = async (schema = newSchema(), parameters = patientPostgres): Promise<string> =>
  `${await base()}${(await base()).includes('?') ? '&' : '?'}schema=${schema}${parameters}`
