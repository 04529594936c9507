import { isRight } from 'fp-ts/lib/Either.js'
import { openPostgres } from '../../../../src/store/postgres/store.ts'

// Holds a name until it is killed: `holder.ts URL NAME`. Says whether it holds it, and when it has lost it.

const [, , url = '', name = ''] = process.argv
const store = await openPostgres(url)()
const say = (text: string): void => void process.stdout.write(`${text}\n`)
const release = isRight(store) ? await store.right.liveness?.hold(name, () => say('lost')) : undefined
setInterval(() => {}, 1_000)
say(release ? 'held' : 'refused')
