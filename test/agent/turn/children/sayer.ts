import { openStore } from '../../../../src/index.ts'

// Says one word after the other, from a number on, until it is killed; prints each number once it is said. Arguments: store, number.

const [url = '', from = '0'] = process.argv.slice(2)
const store = await openStore(url)
const chat = store.conversation('c')
for (let n = Number(from); ; n++) {
  // Whoever was killed in between says it again under the same name.
  await chat.say({ role: 'user', content: `word-${n}.` }, { commandId: `say-${n}` })
  process.stdout.write(`${n}\n`)
}
