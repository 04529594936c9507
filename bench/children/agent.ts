// An agent for `palimpsest work` whose first call in each conversation never ends. Writes each call down in the file that BENCH_CALLS names.
import { appendFileSync, readFileSync } from 'node:fs'
import type { Conversation, ServedConversation } from '../../src/index.ts'
import { instantClient, turnOptions } from '../instant-client.ts'

const file = process.env['BENCH_CALLS'] ?? ''

export default ({ id }: ServedConversation<Conversation>) => {
  const called = (): Promise<void> | undefined => {
    const isFirst = !readFileSync(file, 'utf8').includes(` ${id}\n`)
    appendFileSync(file, `${process.hrtime.bigint()} ${id}\n`)
    return isFirst ? new Promise(() => {}) : undefined
  }
  return { ...turnOptions, client: instantClient(0, 1, called).client }
}
