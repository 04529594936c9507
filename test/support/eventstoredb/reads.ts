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

/** A place in $all as a checkpoint has it: an event's, or, with `prepare` 0, one right before the event at `commit`. */
interface Place {
  readonly commit: bigint
  readonly prepare: bigint
}
/** -1 as the protocol's unsigned numbers have it: where a subscription from the start is that has reached nothing yet. */
const minusOne = 2n ** 64n - 1n
const beforeAll: Place = { commit: minusOne, prepare: minusOne }

const isBehind = (one: Place, other: Place): boolean =>
  one.commit > other.commit || (one.commit === other.commit && one.prepare > other.prepare)

const checkpoint = ({ commit, prepare }: Place): ReadResp =>
  new streams.ReadResp().setCheckpoint(
    new streams.ReadResp.Checkpoint().setCommitPosition(String(commit)).setPreparePosition(String(prepare)),
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

/** Where a subscription to $all begins, and the index of the first event that it has not had. */
const beginningOf = ({ log }: Context, options: Options): { readonly at: Place; readonly next: number } => {
  const all = options.getAll()
  if (all?.hasStart()) return { at: beforeAll, next: 0 }
  const position = all?.getPosition()
  const at = {
    commit: BigInt(position?.getCommitPosition() ?? minusOne),
    prepare: BigInt(position?.getPreparePosition() ?? minusOne),
  }
  // The place -1, given back, means the end.
  if (all?.hasEnd() || at.commit === minusOne) {
    const last = BigInt(log.all.at(-1)?.position ?? 0)
    return { at: { commit: last, prepare: last }, next: log.all.length }
  }
  const commit = Number(at.commit)
  const index = log.indexAt(commit)
  const isPassed = log.all[index]?.position === commit && at.prepare >= at.commit
  return { at, next: isPassed ? index + 1 : index }
}

/**
 * A filtered subscription to $all, with the checkpoints of a real server (EventStore.Core 24.2,
 * Enumerator.AllSubscriptionFiltered.cs): while it catches up, the beginning of the page that filled the interval; at the end of that
 * the last event or checkpoint that it has sent; then every so many events. None that is not behind the last one: after -1, which is
 * the largest number there is, no other follows.
 */
const subscribeFiltered = async (
  context: Context,
  options: Options,
  send: Send,
  signal: AbortSignal,
): Promise<void> => {
  const { log } = context
  const matches = filterOf(options)
  const filter = options.getFilter()
  const window = filter?.hasMax() ? filter.getMax() : pageSize
  const interval = window * Math.max(1, filter?.getCheckpointintervalmultiplier() ?? 1)
  const begun = beginningOf(context, options)
  const subscribedAt = log.all.length
  let { at, next } = begun
  let told: Place | undefined
  const tell = async (place: Place): Promise<void> => {
    if (told && !isBehind(place, told)) return
    told = place
    await send(checkpoint(place))
  }
  const show = async (event: Recorded): Promise<void> => {
    at = { commit: BigInt(event.position), prepare: BigInt(event.position) }
    await send(recorded(event))
  }
  const catchUp = async (): Promise<void> => {
    for (let counted = 0; ;) {
      const first = log.all[next]
      let considered = 0
      for (let found = 0; considered < window && found < pageSize; considered++) {
        const event = log.all[next]
        if (!event) return tell(at)
        next++
        if (matches(event) && ++found) await show(event)
      }
      counted += considered
      if (counted < interval) continue
      counted %= interval
      const reached = BigInt(next - considered === 0 ? 0 : (first?.position ?? 0))
      if (at === beforeAll || at.commit < reached) at = { commit: reached, prepare: 0n }
      await tell(at)
    }
  }
  await send(confirmation())
  if (next < subscribedAt) await catchUp()
  await send(caughtUp())
  for (;;) {
    const event = log.all[next]
    if (!event) {
      await once(log.changes, 'change', { signal })
      continue
    }
    next++
    if (matches(event)) await show(event)
    if ((next - subscribedAt) % interval === 0) {
      at = { commit: BigInt(event.position), prepare: BigInt(event.position) }
      await tell(at)
    }
  }
}

const subscribe = async (
  context: Context,
  options: Options,
  send: Send,
  signal: AbortSignal,
): Promise<void> => {
  if (options.hasAll() && options.getFilter()) return subscribeFiltered(context, options, send, signal)
  const { log } = context
  const name = nameOf(options.getStream()?.getStreamIdentifier())
  const isAll = options.hasAll()
  const source = isAll ? log.all : log.eventsOf(name)
  const isShown = (event: Recorded): boolean =>
    isAll || (event.revision >= log.firstShown(name) && log.isFresh(event))
  let next = isAll ? beginningOf(context, options).next : startOf(rangeOf(options).from, source.length)
  let isCaughtUp = false
  await send(confirmation())
  for (;;) {
    const event = source[next]
    if (event) {
      next++
      if (isShown(event)) await send(recorded(event))
    } else if (!isCaughtUp) {
      isCaughtUp = true
      await send(caughtUp())
    } else await once(log.changes, 'change', { signal })
  }
}

/** The index of the first event of a stream that a subscription has not had. */
const startOf = (after: number | 'start' | 'end', length: number): number => {
  if (after === 'start') return 0
  return after === 'end' ? length : after + 1
}

/** Events that are looked through in one go. */
const scanned = 1_000

/**
 * A filtered read of $all: nothing is sent until as many as asked for are found, or the end; and it does not end before one more is
 * found (EventStore.Core 24.2, Enumerator.ReadAllForwardsFiltered.cs).
 */
const readFiltered = async (
  { log, scanSpeed }: Context,
  options: Options,
  send: Send,
  signal: AbortSignal,
): Promise<void> => {
  const range = rangeOf(options)
  const matches = filterOf(options)
  let looked = 0
  let found: Recorded[] = []
  let sent = 0
  for (const event of log.readAll({ ...range, count: Infinity })) {
    if (++looked % scanned === 0) {
      await sleep((scanned / scanSpeed) * 1_000)
      if (signal.aborted) return
    }
    if (!matches(event)) continue
    if (sent === range.count) return
    if (found.push(event) < range.count) continue
    for (const each of found) await send(recorded(each))
    sent = found.length
    found = []
  }
  for (const each of found) await send(recorded(each))
}

const readOnce = async (
  context: Context,
  options: Options,
  send: Send,
  signal: AbortSignal,
): Promise<void> => {
  const { log } = context
  if (options.hasAll() && options.getFilter()) return readFiltered(context, options, send, signal)
  if (options.hasAll()) {
    for (const event of log.readAll(rangeOf(options))) await send(recorded(event))
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
    // Every call that has ended is also cancelled: a reason spares each of them an error with a stack.
    call.once('cancelled', () => gone.abort('the call has ended'))

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
      if (fault?.kind === 'delay') await (fault.until ?? sleep(fault.ms))
      if (strikes && fault.events === undefined) throw new Struck(fault)
      if (refusal) return void call.emit('error', refusal)
      if (options.hasSubscription()) await subscribe(context, options, send, gone.signal)
      else await readOnce(context, options, send, gone.signal)
      if (strikes) throw new Struck(fault)
      call.end()
    } catch (error) {
      if (gone.signal.aborted) return
      if (!(error instanceof Struck)) throw error
      if (error.fault.kind === 'drop') context.drop(call)
      else if (error.fault.kind !== 'silence') call.emit('error', errorOf(error.fault, context))
    }
  }
