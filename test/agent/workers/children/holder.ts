import { DatabaseSync } from 'node:sqlite'

// Writes to a store's file, and never commits: `holder.ts URL`. Prints a line once it is in its transaction.

const [path = ''] = (process.argv[2] ?? '').slice('sqlite:'.length).split('?')
const db = new DatabaseSync(path, { timeout: 10_000 })
db.exec('BEGIN IMMEDIATE; CREATE TABLE never (committed TEXT)')
process.stdout.write('held\n')
const parent = process.ppid
setInterval(() => process.ppid === parent || process.exit(), 1_000)
