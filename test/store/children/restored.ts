// Restores a backup, and prints the outcome.
import { restoreFile } from '../../../src/api/schemes.ts'

const [url = '', file = ''] = process.argv.slice(2)
process.stdout.write(JSON.stringify(await restoreFile(url, file)()))
