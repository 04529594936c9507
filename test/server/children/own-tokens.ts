// Lists the tokens of a file of its own that it may not read, and prints the error. Root may read every file.
import { chmodSync } from 'node:fs'
import { createAccessToken, listAccessTokens } from '../../../src/server/access-tokens.ts'

if (process.getuid?.() === 0) process.setuid?.(65_534)
const [file = ''] = process.argv.slice(2)
createAccessToken(file, 'ann', ['read'])
chmodSync(file, 0)
try {
  listAccessTokens(file)
} catch (error) {
  process.stdout.write(String(error))
}
