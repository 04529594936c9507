// Uses a store as often as it is told, as far as it answers, then has nothing left to do.
import { openStore } from '../../../../src/index.ts'

const [url = '', times = ''] = process.argv.slice(2)
for (let n = 0; n < Number(times); n++) {
  const store = await openStore(url).catch(({ _tag }: { readonly _tag: string }) => _tag)
  if (typeof store === 'string') process.stdout.write(`${store} `)
  else {
    await store.conversation('c').exists()
    await store.close()
    process.stdout.write('closed ')
  }
}
