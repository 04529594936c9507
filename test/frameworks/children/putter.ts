// Puts checkpoints of a thread, each with one more message, and prints the id of each when it is acknowledged: `putter.ts URL THREAD`.
import { writeSync } from 'node:fs'
import { HumanMessage } from '@langchain/core/messages'
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import { checkpointSaver } from '../../../src/frameworks/langgraph.ts'
import { openStore } from '../../../src/index.ts'

const [url = '', thread = ''] = process.argv.slice(2)
const saver = checkpointSaver(await openStore(url))
let config: { configurable: Record<string, unknown> } = { configurable: { thread_id: thread } }
const messages: HumanMessage[] = []
for (let step = 0; ; step += 1) {
  messages.push(new HumanMessage({ content: `${process.pid} says ${step}`, id: `${process.pid}-${step}` }))
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(step),
    channel_values: { messages: [...messages] },
    channel_versions: { messages: step + 1 },
  }
  const put = await saver.put(
    config,
    checkpoint,
    { source: 'loop', step, parents: {} },
    { messages: step + 1 },
  )
  await saver.putWrites(put, [['messages', messages.slice(-1)]], `task-${step}`)
  config = put as typeof config
  writeSync(1, `${checkpoint.id} ${messages.length}\n`)
}
