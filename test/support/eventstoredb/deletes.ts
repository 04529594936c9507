import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js'
import { expectedOf } from './appends.ts'
import { type Context, errorOf, perform } from './context.ts'
import { rpcErrors } from './errors.ts'
import type { Expected, Outcome } from './log.ts'
import { nameOf, streams } from './protocol.ts'

type DeleteReq = InstanceType<typeof streams.DeleteReq>
type DeleteResp = InstanceType<typeof streams.DeleteResp>
type TombstoneReq = InstanceType<typeof streams.TombstoneReq>
type TombstoneResp = InstanceType<typeof streams.TombstoneResp>

interface Deletion<Response> {
  readonly method: 'Delete' | 'Tombstone'
  readonly run: (stream: string, expected: Expected) => Outcome
  readonly response: (position: string) => Response
}

const deletion =
  <Response>(context: Context, { method, run, response }: Deletion<Response>) =>
  (call: ServerUnaryCall<DeleteReq | TombstoneReq, Response>, callback: sendUnaryData<Response>): void => {
    const options = call.request.getOptions()
    const denial = context.denial(call)
    if (denial || !options) return callback(denial ?? rpcErrors.invalid('no options'))
    const stream = nameOf(options.getStreamIdentifier())
    const expected = expectedOf(options, options.getRevision())
    void perform<Outcome>(context, {
      call,
      fault: context.strike({ method, stream }),
      run: () => run(stream, expected),
      answer: (outcome) => {
        if (outcome.type === 'written') callback(null, response(String(outcome.position)))
        else if (outcome.type === 'stream-deleted') callback(rpcErrors.streamDeleted(stream))
        else callback(rpcErrors.wrongExpectedVersion(stream, expected, outcome.current))
      },
      fail: (fault) => callback(errorOf(fault, context)),
    })
  }

/** The soft delete: the stream's metadata say that nothing of it is shown. */
export const deleteStream = (context: Context): ReturnType<typeof deletion<DeleteResp>> =>
  deletion(context, {
    method: 'Delete',
    run: (stream, expected) => context.log.delete(stream, expected),
    response: (position) =>
      new streams.DeleteResp().setPosition(
        new streams.DeleteResp.Position().setCommitPosition(position).setPreparePosition(position),
      ),
  })

/** The hard delete. */
export const tombstoneStream = (context: Context): ReturnType<typeof deletion<TombstoneResp>> =>
  deletion(context, {
    method: 'Tombstone',
    run: (stream, expected) => context.log.tombstone(stream, expected),
    response: (position) =>
      new streams.TombstoneResp().setPosition(
        new streams.TombstoneResp.Position().setCommitPosition(position).setPreparePosition(position),
      ),
  })
