import type { Store } from '../../index.ts'
import { timer } from '../../result/timers.ts'
import { failureOf } from '../errors.ts'
import { untilAborted } from './abort-on-signals.ts'
import { type Agent, createChangeCheck, loadAgent } from './agent.ts'
import { type RelayServer, createRelayClient } from './relay-client.ts'
import { type ChildMessage, defaultGrace, extra, openWord, stepInWord, stopWord } from './child-message.ts'

/** Worker options from the command line. They override those of the agent. */
export type WorkerFlags = Partial<Pick<Agent, 'name' | 'slots' | 'conversations' | 'grace' | 'answerAll'>> & {
  /** True if the worker waits to replace another one. */
  readonly standby?: true
}

/** Sends a message to the parent process, if there is one. Resolves once the message is sent. */
const tell = (said: ChildMessage): Promise<void> =>
  new Promise((resolve) => {
    if (process.send) process.send(said, undefined, undefined, () => resolve())
    else resolve()
  })

/**
 * Listens for messages from the parent process and for signals. `ends` aborts when this process is told to stop, receives `SIGTERM` or
 * `SIGINT`, or loses its parent; `opens` aborts when the store exists, and `stepsIn` when it is told to replace another worker.
 */
const told = () => {
  const [ends, opens, stepsIn] = [new AbortController(), new AbortController(), new AbortController()]
  const end = (): void => ends.abort()
  process.on('message', (word) => {
    if (word === stopWord) end()
    if (word === openWord) opens.abort()
    if (word === stepInWord) stepsIn.abort()
  })
  process.on('disconnect', end)
  // The parent may have ended before this process began to listen.
  if (process.send && !process.connected) end()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end)
  return { ends: ends.signal, opens: opens.signal, stepsIn: stepsIn.signal }
}

/**
 * Runs one worker until it is told to stop. Errors are reported to the parent process, not thrown.
 *
 * @param open opens the store; called once the agent is loaded and the parent process knows a store to exist
 * @param server server that receives the events of the turns
 */
export const workHere = async (
  open: () => Promise<Store>,
  file: string,
  { standby, ...given }: WorkerFlags,
  server?: RelayServer,
): Promise<void> => {
  const { ends: signal, opens, stepsIn } = told()
  const relay = server && createRelayClient(server)
  const hasChanged = createChangeCheck(file)
  let store: Store | undefined
  try {
    const agent = await loadAgent(file)
    await tell({ type: 'loaded' })
    await untilAborted(AbortSignal.any([signal, opens]))
    if (!opens.aborted) return await tell({ type: 'stopped' })
    store = await open()
    const { onStep, onEvent, turn } = agent
    const worker = store.worker({
      ...agent,
      ...given,
      ...(standby && { standby: stepsIn }),
      turn: (served) => {
        void tell({ type: 'taken', conversation: served.id })
        if (hasChanged()) void tell({ type: 'changed' })
        return turn(served)
      },
      ...(relay && {
        onEvent: (served) => {
          relay.tell(served)
          onEvent?.(served)
        },
      }),
      onStep: (step) => {
        void tell({ type: 'step', step })
        onStep?.(step)
      },
    })
    const { grace = defaultGrace } = { ...agent, ...given }
    signal.addEventListener('abort', () => timer(grace + extra, () => process.exit(1)).unref())
    const running = worker.run({ signal })
    relay?.begin(worker.id)
    await Promise.race([running, tell({ type: 'started', worker: worker.id, grace })])
    const { why, left } = await running
    if (why === 'closed') {
      process.stderr.write(`${worker.id} ends: the store's file was removed or replaced\n`)
      process.exitCode = 1
      await tell({ type: 'replaced' })
    } else if (why === 'lost') {
      process.stderr.write(
        `${worker.id} ends: its connection to the store broke, and others take over its steps\n`,
      )
      process.exitCode = 1
    } else if (left.length > 0) {
      process.stderr.write(`${worker.id} leaves ${left.join(', ')} to others: the agent ignores its signal\n`)
      process.exitCode = 1
    } else await tell({ type: 'stopped' })
  } catch (error) {
    process.exitCode = 1
    await tell({ type: 'failed', failure: failureOf(error) })
  } finally {
    relay?.end()
    await store?.close()
  }
}
