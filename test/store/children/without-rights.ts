// Reads keys as a user without rights, and prints the error. It is loaded as root, because that user may not read the checkout.
import { withAccessErrors } from '../../../src/store/seal/key-access.ts'
import { keyFile } from '../../../src/store/seal/key-file.ts'
import { keyFolder } from '../../../src/store/seal/key-folder.ts'

process.setuid?.(65_534)
for (const path of process.argv.slice(2)) {
  const keys = withAccessErrors(path.endsWith('/') ? keyFolder(path) : keyFile(path), path)
  const message = await keys.read('a').then(String, (error: Error) => error.message)
  process.stdout.write(`${message}\n`)
}
