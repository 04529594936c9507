// Opens, diagnoses and restores files as a user without rights, and prints the messages. It is loaded as root, because that user may not
// read the checkout.
import * as E from 'fp-ts/lib/Either.js'
import { diagnose, openAdapter, restoreFile, writeProblemOf } from '../../../src/api/schemes.ts'

const [store = '', backup = '', own = ''] = process.argv.slice(2)
// Loads the driver.
await restoreFile(own, backup)()
await diagnose(own)()
await openAdapter(own, false)()
process.setuid?.(65_534)
const messageOf = (result: E.Either<{ readonly message: string }, unknown>): string =>
  E.isLeft(result) ? result.left.message : JSON.stringify(result.right)
for (const line of [
  messageOf(await openAdapter(store, false)()),
  (await writeProblemOf(store))?.message,
  messageOf(await diagnose(store)()),
  messageOf(await restoreFile(own, backup)()),
])
  process.stdout.write(`${line}\n`)
