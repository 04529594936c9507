// Opens a store on a read-only disk, reads and appends, has it diagnosed, and prints what it saw.
import { diagnose } from '../../../src/api/schemes.ts'
import { openStore } from '../../../src/index.ts'

const shown = (error: Error): object => Object.assign({}, error, { message: error.message })
const [url = ''] = process.argv.slice(2)
const outcome = await openStore(url).then(
  async (store) => ({
    read: await store
      .conversation('c')
      .full()
      .then((all) => all.length, shown),
    appended: await store
      .conversation('c')
      .append({ role: 'user', content: 'x' })
      .then(() => 'yes', shown),
  }),
  (error: Error) => ({ opened: shown(error) }),
)
process.stdout.write(JSON.stringify({ ...outcome, diagnosed: await diagnose(url)() }))
