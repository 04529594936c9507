// Runs programs one after another in one process, which loads the package once. A message names a program's folder; the answer says
// what it wrote to stderr and its exit code, once nothing of it keeps the process from ending.
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'

let stderr = ''
process.stderr.write = (chunk: string | Uint8Array): boolean => {
  stderr += String(chunk)
  return true
}
for (const event of ['uncaughtException', 'unhandledRejection', 'warning'])
  process.on(event, (error: Error) => {
    if (error.name !== 'ExperimentalWarning') stderr += inspect(error)
  })

const open = (): number => process.getActiveResourcesInfo().length

process.on('message', (folder: string) => {
  void (async () => {
    const before = open()
    process.chdir(folder)
    await import(`${folder}/snippet.ts`).catch((error: unknown) => (stderr += inspect(error)))
    do await sleep(1)
    while (open() > before)
    process.send?.({ stderr, exit: process.exitCode ?? 0 })
    stderr = ''
    process.exitCode = undefined
  })()
})
