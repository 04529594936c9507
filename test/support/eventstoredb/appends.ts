import type { sendUnaryData, ServerDuplexStream, ServerReadableStream } from '@grpc/grpc-js'
import { type Context, errorOf, perform } from './context.ts'
import { rpcErrors, statuses } from './errors.ts'
import { type Expected, noStream, type Outcome, type Proposed } from './log.ts'
import { empty, googleEmpty, identifier, nameOf, shared, type status, streams } from './protocol.ts'

type AppendReq = InstanceType<typeof streams.AppendReq>
type AppendResp = InstanceType<typeof streams.AppendResp>
type BatchAppendReq = InstanceType<typeof streams.BatchAppendReq>
type BatchAppendResp = InstanceType<typeof streams.BatchAppendResp>
type Message =
  | InstanceType<typeof streams.AppendReq.ProposedMessage>
  | InstanceType<typeof streams.BatchAppendReq.ProposedMessage>
type Status = InstanceType<typeof status.Status>

const uuid = /^[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}$/

/** @throws An error with the server's text if the id is no UUID. */
const proposed = (message: Message): Proposed => {
  const id = message.getId()?.getString().toLowerCase() ?? ''
  if (!uuid.test(id)) throw new Error(`Unrecognized Guid format: ${id}`)
  return {
    id,
    type: message.getMetadataMap().get('type') ?? '',
    isJson: message.getMetadataMap().get('content-type') === 'application/json',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  }
}

/** Event.SizeOnDisk of a real server. */
const sizeOf = ({ type, data, metadata }: Proposed): number => type.length * 2 + data.length + metadata.length

interface ExpectedOptions {
  readonly hasAny: () => boolean
  readonly hasNoStream: () => boolean
  readonly hasStreamExists: () => boolean
}

export const expectedOf = (options: ExpectedOptions, revision: string): Expected => {
  if (options.hasAny()) return 'any'
  if (options.hasStreamExists()) return 'stream_exists'
  return options.hasNoStream() ? noStream : Number(revision)
}

const unarySuccess = (revision: number, position: number | undefined): AppendResp => {
  const success = new streams.AppendResp.Success()
  if (revision === noStream) success.setNoStream(empty())
  else success.setCurrentRevision(String(revision))
  if (position === undefined) success.setNoPosition(empty())
  else
    success.setPosition(
      new streams.AppendResp.Position()
        .setCommitPosition(String(position))
        .setPreparePosition(String(position)),
    )
  return new streams.AppendResp().setSuccess(success)
}

const unaryWrongExpectedVersion = (expected: Expected, current: number): AppendResp => {
  const wrong = new streams.AppendResp.WrongExpectedVersion()
  if (current === noStream) wrong.setCurrentNoStream(empty())
  else wrong.setCurrentRevision(String(current))
  if (expected === 'any') wrong.setExpectedAny(empty())
  else if (expected === 'stream_exists') wrong.setExpectedStreamExists(empty())
  else if (expected === noStream) wrong.setExpectedNoStream(empty())
  else wrong.setExpectedRevision(String(expected))
  return new streams.AppendResp().setWrongExpectedVersion(wrong)
}

/** The unary path: options, then one message an event, then one answer. */
export const append =
  (context: Context) =>
  (call: ServerReadableStream<AppendReq, AppendResp>, callback: sendUnaryData<AppendResp>): void => {
    const events: Proposed[] = []
    let stream = ''
    let expected: Expected = 'any'
    let size = 0
    let isOver = false
    const finish: typeof callback = (...answer) => {
      isOver = true
      callback(...answer)
    }
    call.on('data', (request: AppendReq) => {
      const options = request.getOptions()
      const message = request.getProposedMessage()
      if (isOver) return
      if (options) {
        stream = nameOf(options.getStreamIdentifier())
        expected = expectedOf(options, options.getRevision())
        const denial = context.denial(call)
        if (denial) finish(denial)
      } else if (message) {
        try {
          const event = proposed(message)
          events.push(event)
          size += sizeOf(event)
        } catch (error) {
          finish(rpcErrors.invalid(String(error)))
        }
        if (size > context.maxAppendSize) finish(rpcErrors.maxAppendSizeExceeded(context.maxAppendSize))
      }
    })
    call.on('end', () => {
      if (isOver) return
      void perform<Outcome>(context, {
        call,
        fault: context.strike({ method: 'Append', stream }),
        run: () => context.log.append(stream, expected, events),
        answer: (outcome) => {
          if (outcome.type === 'written') callback(null, unarySuccess(outcome.revision, outcome.position))
          else if (outcome.type === 'stream-deleted') callback(rpcErrors.streamDeleted(stream))
          else callback(null, unaryWrongExpectedVersion(expected, outcome.current))
        },
        fail: (fault) => callback(errorOf(fault, context)),
      })
    })
  }

const batchSuccess = (
  revision: number,
  position: number | undefined,
): InstanceType<typeof streams.BatchAppendResp.Success> => {
  const success = new streams.BatchAppendResp.Success()
  if (revision === noStream) success.setNoStream(googleEmpty())
  else success.setCurrentRevision(String(revision))
  if (position === undefined) return success.setNoPosition(googleEmpty())
  return success.setPosition(
    new shared.AllStreamPosition().setCommitPosition(String(position)).setPreparePosition(String(position)),
  )
}

interface Pending {
  readonly stream: string
  readonly expected: Expected
  readonly events: Proposed[]
  size: number
}

/** The path of the client's choice: any number of appends on one call, told apart by correlation ids. */
export const batchAppend =
  (context: Context) =>
  (call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>): void => {
    const denial = context.denial(call)
    if (denial?.details === rpcErrors.unauthenticated().details) return void call.emit('error', denial)
    const pending = new Map<string, Pending>()

    const response = (request: BatchAppendReq, stream: string): BatchAppendResp =>
      new streams.BatchAppendResp()
        .setCorrelationId(request.getCorrelationId())
        .setStreamIdentifier(identifier(stream))

    // The client throws on an answer that it does not expect: each append has exactly one.
    const refuse = (request: BatchAppendReq, stream: string, error: Status): void => {
      pending.delete(correlationOf(request))
      call.write(response(request, stream).setError(error))
    }

    const begin = (request: BatchAppendReq): void => {
      const options = request.getOptions()
      if (!options) return
      const stream = nameOf(options.getStreamIdentifier())
      const deadline = options.getDeadline()?.toDate().getTime() ?? Infinity
      if (denial) return refuse(request, stream, statuses.accessDenied())
      if (deadline <= Date.now()) return refuse(request, stream, statuses.timeout())
      const expected = expectedOf(options, options.getStreamPosition())
      pending.set(correlationOf(request), { stream, expected, events: [], size: 0 })
    }

    const end = (request: BatchAppendReq, { stream, expected, events }: Pending): void => {
      pending.delete(correlationOf(request))
      void perform<Outcome>(context, {
        call,
        fault: context.strike({ method: 'BatchAppend', stream }),
        run: () => context.log.append(stream, expected, events),
        answer: (outcome) => {
          if (outcome.type === 'written')
            call.write(response(request, stream).setSuccess(batchSuccess(outcome.revision, outcome.position)))
          else if (outcome.type === 'stream-deleted') refuse(request, stream, statuses.streamDeleted(stream))
          else refuse(request, stream, statuses.wrongExpectedVersion(expected, outcome.current))
        },
        fail: (fault) => {
          if (fault.kind === 'deadline') refuse(request, stream, statuses.timeout())
          else if (fault.kind === 'denied') refuse(request, stream, statuses.accessDenied())
          else if (fault.kind === 'busy') refuse(request, stream, statuses.busy())
          // A server that is not the leader ends the whole call, and so every append that is pending on it.
          else call.emit('error', errorOf(fault, context))
        },
      })
    }

    call.on('data', (request: BatchAppendReq) => {
      begin(request)
      const write = pending.get(correlationOf(request))
      if (!write) return
      try {
        for (const message of request.getProposedMessagesList()) {
          const event = proposed(message)
          write.events.push(event)
          write.size += sizeOf(event)
        }
      } catch (error) {
        return refuse(request, write.stream, statuses.badRequest(String(error)))
      }
      if (write.size > context.maxAppendSize)
        return refuse(request, write.stream, statuses.maxAppendSizeExceeded(context.maxAppendSize))
      if (request.getIsFinal()) end(request, write)
    })
    call.on('end', () => call.end())
  }

const correlationOf = (request: BatchAppendReq): string => request.getCorrelationId()?.getString() ?? ''
