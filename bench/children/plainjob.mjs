// plainjob on a file, polled every so many milliseconds: `plainjob.mjs FILE POLL`. Works or adds jobs, as it is told; says when a job was
// added and when it began, by the machine's monotonic clock. Plain JavaScript, as the system's Node may be old.
import Database from 'better-sqlite3'
import { better, defineQueue, defineWorker } from 'plainjob'

const [, , file, poll] = process.argv
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const database = new Database(file)
const queue = defineQueue({ connection: better(database), logger: quiet })
// By itself it does not wait for the disk.
database.pragma('synchronous = FULL')

const said = (type, job) => process.send?.({ type, job, at: String(process.hrtime.bigint()) })
const job = ({ data }) => said('begun', JSON.parse(data))
const worker = defineWorker('step', job, { queue, pollIntervall: Number(poll), logger: quiet })

process.on('message', ({ add }) => {
  for (const name of add) {
    said('added', name)
    queue.add('step', name)
  }
})
if (process.env.PLAINJOB_WORKS) void worker.start()
said('ready')
