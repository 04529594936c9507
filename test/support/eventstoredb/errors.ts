import { Metadata, type StatusObject, status as code } from '@grpc/grpc-js'
import { empty, googleEmpty, identifier, packed, shared, status } from './protocol.ts'
import { type Expected, noStream } from './log.ts'

// Codes, texts and trailers are those of a real server: EventStore.Core, Transport/Grpc/RpcExceptions.cs and Status.cs.

export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** How a call fails: a gRPC status, with what the client wants to know in its trailers. */
export type RpcError = StatusObject

const rpcError = (
  grpcCode: code,
  details: string,
  trailers: Readonly<Record<string, string>> = {},
): RpcError => {
  const metadata = new Metadata()
  // Trailers are ASCII; a real server aborts the call on anything else.
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, value.replace(/[^\x20-\x7e]/g, '?'))
  return { code: grpcCode, details, metadata }
}

const expectedNumber = (expected: Expected): string =>
  String(expected === 'any' ? -2 : expected === 'stream_exists' ? -4 : expected)

export const rpcErrors = {
  unavailable: () => rpcError(code.UNAVAILABLE, 'Server Is Not Ready'),
  busy: () => rpcError(code.UNAVAILABLE, 'Server Is Too Busy'),
  deadline: () => rpcError(code.ABORTED, 'Operation timed out: the write was not acknowledged in time'),
  notLeader: ({ host, port }: Endpoint) =>
    rpcError(code.NOT_FOUND, 'Leader info available', {
      exception: 'not-leader',
      'leader-endpoint-host': host,
      'leader-endpoint-port': String(port),
    }),
  accessDenied: () => rpcError(code.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' }),
  unauthenticated: () => rpcError(code.UNAUTHENTICATED, 'Bad gRPC response. HTTP status code: 401'),
  invalid: (message: string) => rpcError(code.UNKNOWN, `Exception was thrown by handler. ${message}`),
  streamDeleted: (stream: string) =>
    rpcError(code.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
      exception: 'stream-deleted',
      'stream-name': stream,
    }),
  wrongExpectedVersion: (stream: string, expected: Expected, current: number) =>
    rpcError(code.FAILED_PRECONDITION, `Delete failed due to WrongExpectedVersion. Stream: ${stream}`, {
      exception: 'wrong-expected-version',
      'stream-name': stream,
      'expected-version': expectedNumber(expected),
      'actual-version': String(current),
    }),
  maxAppendSizeExceeded: (size: number) =>
    rpcError(code.INVALID_ARGUMENT, `Maximum Append Size of ${size} Exceeded.`, {
      exception: 'maximum-append-size-exceeded',
      'maximum-append-size': String(size),
    }),
}

type Status = InstanceType<typeof status.Status>

const statusOf = (codeNumber: code, message: string, details: ReturnType<typeof packed>): Status =>
  // The codes of google.rpc are those of gRPC.
  new status.Status()
    .setCode(codeNumber as number)
    .setMessage(message)
    .setDetails(details)

const wrongExpectedVersion = (
  expected: Expected,
  current: number,
): InstanceType<typeof shared.WrongExpectedVersion> => {
  const details = new shared.WrongExpectedVersion()
  if (current === noStream) details.setCurrentNoStream(googleEmpty())
  else details.setCurrentStreamRevision(String(current))
  if (expected === 'any') details.setExpectedAny(googleEmpty())
  else if (expected === 'stream_exists') details.setExpectedStreamExists(googleEmpty())
  else if (expected === noStream) details.setExpectedNoStream(googleEmpty())
  else details.setExpectedStreamPosition(String(expected))
  return details
}

/** How one of the appends of a batch append call fails; the call goes on. */
export const statuses = {
  timeout: () =>
    statusOf(code.DEADLINE_EXCEEDED, 'Timeout', packed(new shared.Timeout(), 'event_store.client.Timeout')),
  busy: () => statusOf(code.OK, 'Server Is Busy', packed(empty(), 'google.protobuf.Empty')),
  accessDenied: () =>
    statusOf(
      code.PERMISSION_DENIED,
      'AccessDenied',
      packed(new shared.AccessDenied(), 'event_store.client.AccessDenied'),
    ),
  badRequest: (message: string) =>
    statusOf(
      code.INVALID_ARGUMENT,
      'BadRequest',
      packed(new shared.BadRequest().setMessage(message), 'event_store.client.BadRequest'),
    ),
  streamDeleted: (stream: string) =>
    statusOf(
      code.NOT_FOUND,
      'StreamDeleted',
      packed(
        new shared.StreamDeleted().setStreamIdentifier(identifier(stream)),
        'event_store.client.StreamDeleted',
      ),
    ),
  wrongExpectedVersion: (expected: Expected, current: number) =>
    statusOf(
      code.ALREADY_EXISTS,
      'WrongExpectedVersion',
      packed(wrongExpectedVersion(expected, current), 'event_store.client.WrongExpectedVersion'),
    ),
  maxAppendSizeExceeded: (size: number) =>
    statusOf(
      code.INVALID_ARGUMENT,
      'MaximumAppendSizeExceeded',
      packed(
        new shared.MaximumAppendSizeExceeded().setMaxappendsize(size),
        'event_store.client.MaximumAppendSizeExceeded',
      ),
    ),
}
