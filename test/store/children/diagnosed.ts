// Makes a store and prints what its diagnosis finds.
import { openStore } from '../../../src/index.ts'
import { diagnose } from '../../../src/api/schemes.ts'
import { right } from '../../support/either.ts'

const [path = ''] = process.argv.slice(2)
await (await openStore(`sqlite:${path}`)).close()
process.stdout.write(JSON.stringify(right(await diagnose(`sqlite:${path}`)())))
