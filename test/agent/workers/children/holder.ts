import { DatabaseSync } from 'node:sqlite'

// Writes to a store's file, and never commits: `holder.ts URL`. Prints a line once it is in its transaction.

const db = new DatabaseSync((process.argv[2] ?? '').slice('sqlite:'.length), { timeout: 10_000 })
db.exec('BEGIN IMMEDIATE; CREATE TABLE never (committed TEXT)')
process.stdout.write('held\n')
const parent = process.ppid
setInterval(() => process.ppid === parent || process.exit(), 1_000)
