// Indexes a store on a disk that is too small for it, and prints what is found; then once more.
import { openStore } from '../../../src/index.ts'

const [path = '', index = ''] = process.argv.slice(2)
const store = await openStore(`sqlite:${path}`, { index })
const said: unknown[] = []
for (let n = 0; n < 2; n++) {
  // However long the machine takes.
  while (!(await store.catalogue.find()).isComplete);
  const { items, isComplete, problem } = await store.catalogue.search('the needle', { limit: 1_000 })
  const { total, problem: why } = await store.catalogue.find()
  said.push({ hits: items.length, total, isComplete, problem, why })
  await store.conversation('later').append({ role: 'user', content: 'the needle' })
}
await store.close()
process.stdout.write(JSON.stringify(said))
