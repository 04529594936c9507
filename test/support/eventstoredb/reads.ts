import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerWritableStream } from '@grpc/grpc-js'
import { type Context, errorOf } from './context.ts'
import { rpcErrors } from './errors.ts'
import type { Fault } from './faults.ts'
import { type Recorded, tombstoneRevision } from './log.ts'
import { identifier, nameOf, shared, streams } from './protocol.ts'

type ReadReq = InstanceType<typeof streams.ReadReq>
type ReadResp = InstanceType<typeof streams.ReadResp>
type Options = InstanceType<typeof streams.ReadReq.Options>
type ReadCall = ServerWritableStream<ReadReq, ReadResp>

/** A real server's page, and so the client's default of `maxSearchWindow`. */
const pageSize = 32

const recorded = (event: Recorded): ReadResp => {
  const { id, stream, revision, position, type, isJson, created, data, metadata } = event
  const message = new streams.ReadResp.ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(id))
    .setStreamIdentifier(identifier(stream))
    .setStreamRevision(String(revision === tombstoneRevision ? 2n ** 63n - 1n : revision))
    .setCommitPosition(String(position))
    .setPreparePosition(String(position))
    .setData(data)
    .setCustomMetadata(metadata)
  message
    .getMetadataMap()
    .set('type', type)
    .set('content-type', isJson ? 'application/json' : 'application/octet-stream')
    // .NET ticks of 100 ns, but since 1970.
    .set('created', `${created}0000`)
  return new streams.ReadResp().setEvent(
    new streams.ReadResp.ReadEvent().setEvent(message).setCommitPosition(String(position)),
  )
}

const confirmation = (): ReadResp =>
  new streams.ReadResp().setConfirmation(
    new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(randomUUID()),
  )

const checkpoint = (position: number): ReadResp =>
  new streams.ReadResp().setCheckpoint(
    new streams.ReadResp.Checkpoint()
      .setCommitPosition(String(position))
      .setPreparePosition(String(position)),
  )

const caughtUp = (): ReadResp => new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp())

const streamNotFound = (stream: string): ReadResp =>
  new streams.ReadResp().setStreamNotFound(
    new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifier(stream)),
  )

const filterOf = (options: Options): ((event: Recorded) => boolean) => {
  const filter = options.getFilter()
  const expression = filter?.getStreamIdentifier() ?? filter?.getEventType()
  if (!filter || !expression) return () => true
  const subject = filter.hasStreamIdentifier()
    ? ({ stream }: Recorded) => stream
    : ({ type }: Recorded) => type
  if (expression.getRegex() !== '') {
    const regex = new RegExp(expression.getRegex())
    return (event) => regex.test(subject(event))
  }
  const prefixes = expression.getPrefixList()
  return (event) => prefixes.some((prefix) => subject(event).startsWith(prefix))
}

const rangeOf = (options: Options): { from: number | 'start' | 'end'; backwards: boolean; count: number } => {
  const stream = options.getStream()
  const place = stream ?? options.getAll()
  const exact = stream ? stream.getRevision() : options.getAll()?.getPosition()?.getCommitPosition()
  return {
    from: place?.hasStart() ? 'start' : place?.hasEnd() ? 'end' : Number(exact),
    backwards: options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS,
    count: Number(options.getCount()),
  }
}

type Send = (message: ReadResp) => Promise<void>

/** Where a subscription begins: the index of the first event that it has not had. */
const startOf = (
  source: readonly Recorded[],
  after: number | 'start' | 'end',
  next: () => number,
): number => {
  if (after === 'start') return 0
  return after === 'end' ? source.length : next()
}

const subscribe = async (
  { log }: Context,
  options: Options,
  send: Send,
  signal: AbortSignal,
): Promise<void> => {
  const name = nameOf(options.getStream()?.getStreamIdentifier())
  const isAll = options.hasAll()
  const source = isAll ? log.all : log.eventsOf(name)
  const { from } = rangeOf(options)
  const start = startOf(source, from, () => (isAll ? log.indexAt(Number(from) + 1) : Number(from) + 1))
  const matches = filterOf(options)
  const filter = options.getFilter()
  const window = filter?.hasMax() ? filter.getMax() : pageSize
  const interval = window * (filter?.getCheckpointintervalmultiplier() ?? 0)
  const isShown = (event: Recorded): boolean =>
    isAll || (event.revision >= log.firstShown(name) && log.isFresh(event))
  let isCaughtUp = false
  let skipped = 0
  await send(confirmation())
  for (let next = start; ;) {
    const event = source[next]
    if (event) {
      next++
      if (matches(event) && isShown(event)) await send(recorded(event))
      else if (filter && ++skipped >= interval) {
        skipped = 0
        await send(checkpoint(event.position))
      }
    } else if (!isCaughtUp) {
      isCaughtUp = true
      const last = source[next - 1]
      if (filter && last) await send(checkpoint(last.position))
      await send(caughtUp())
    } else await once(log.changes, 'change', { signal })
  }
}

const readOnce = async ({ log }: Context, options: Options, send: Send): Promise<void> => {
  if (options.hasAll()) {
    for (const event of log.readAll(rangeOf(options), filterOf(options))) await send(recorded(event))
    return
  }
  const name = nameOf(options.getStream()?.getStreamIdentifier())
  if (log.state(name) === 'stream-not-found') return send(streamNotFound(name))
  for (const event of log.readStream(name, rangeOf(options))) await send(recorded(event))
}

/** Signals that a read ends here, and how. */
class Struck {
  readonly fault: Fault
  constructor(fault: Fault) {
    this.fault = fault
  }
}

/** Reads of a stream or of $all, and subscriptions to them. */
export const read =
  (context: Context) =>
  async (call: ReadCall): Promise<void> => {
    const options = call.request.getOptions()
    if (!options) return void call.emit('error', rpcErrors.invalid('no options'))
    const stream = nameOf(options.getStream()?.getStreamIdentifier())
    const isDeleted = context.log.state(stream) === 'stream-deleted'
    const refusal = context.denial(call) ?? (isDeleted ? rpcErrors.streamDeleted(stream) : undefined)
    const gone = new AbortController()
    call.once('cancelled', () => gone.abort())

    const fault = context.strike({
      method: 'Read',
      ...(options.hasAll() ? { all: true } : { stream }),
      ...(options.hasSubscription() ? { subscription: true } : {}),
    })
    const strikes = fault !== undefined && fault.kind !== 'delay'
    let sent = 0
    const send: Send = async (message) => {
      if (strikes && message.hasEvent() && sent++ >= (fault.events ?? 0)) throw new Struck(fault)
      // The client reads more slowly than we do: what it has not taken must not pile up here.
      if (!call.write(message)) await once(call, 'drain', { signal: gone.signal })
    }
    try {
      if (fault?.kind === 'delay') await sleep(fault.ms)
      if (strikes && fault.events === undefined) throw new Struck(fault)
      if (refusal) return void call.emit('error', refusal)
      if (options.hasSubscription()) await subscribe(context, options, send, gone.signal)
      else await readOnce(context, options, send)
      if (strikes) throw new Struck(fault)
      call.end()
    } catch (error) {
      if (gone.signal.aborted) return
      if (!(error instanceof Struck)) throw error
      if (error.fault.kind === 'drop') context.drop(call)
      else if (error.fault.kind !== 'silence') call.emit('error', errorOf(error.fault, context))
    }
  }
