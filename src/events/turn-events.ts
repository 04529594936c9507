import { z } from 'zod'
import { askingShape, isoTime, START } from './events.ts'
import { type Codec, codecOf, type DataOf, type FactOf, type FactEnvelope } from './facts.ts'

// Events other than messages that the turns of a conversation record. They have their own stream (ADR 21) and are not history.

/** Last position of the conversation known to the writer. */
const at = z.int().min(START)
/** Position of the reply that makes the tool call. */
const reply = z.int().min(0)
const text = z.string().min(1)

/**
 * Schemas of the data of events that turns record. A tool call is identified by its reply's position and its id; the id alone need not
 * be unique.
 */
export const turnSchemas = {
  /**
   * First event of the stream. If the writer of a reply records tool starts in this stream, the reply refers to the stream by the id of
   * this event.
   */
  TurnsBegun: z.object({ at }),
  /** A tool is about to run. This is recorded before the tool can have any effect. */
  ToolStarted: z.object({ reply, call: text, tool: text, effect: z.enum(['idempotent', 'unsafe']), at }),
  /** Tool calls wait for an approval or for a result from outside (`handed-back`). */
  CallsWaiting: z.object({
    reply,
    calls: z.array(text).min(1),
    why: z.enum(['approval', 'handed-back']),
    /** Time at which the wait for an approval expires; the calls are then denied. */
    until: z.string().regex(isoTime).optional(),
    /** Set if user messages sent during the wait do not count as a denial. */
    keep: z.literal(true).optional(),
    /** Inputs as transformed by the tools' schemas, by call, if they differ from the model's inputs. */
    inputs: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
    /** Set if the calls wait again because an approval was withdrawn. */
    withdrawn: z.object({ by: text, reason: z.string().optional() }).optional(),
    at,
  }),
  /** A person or program decided whether a waiting call may run. Only the first decision during a wait counts. */
  CallDecided: z.object({
    reply,
    call: text,
    /** Revision of the `CallsWaiting` event that this decision answers. */
    wait: z.int().min(0),
    decision: z.enum(['approved', 'denied']),
    by: text,
    note: z.string().optional(),
    /** Reason for a denial, passed on to the model. */
    reason: z.string().optional(),
    /** Input for the tool that replaces the model's input. */
    input: z.record(z.string(), z.unknown()).optional(),
    at,
  }),
  /** The running turn of the conversation must end. */
  TurnCancelled: z.object({ by: text.optional(), reason: z.string().optional(), at }),
  /** An answer was requested from the workers. */
  TurnRequested: z.object({ ...askingShape, at }),
  /** The worker has claimed the step: it calls the model or runs its tools, and continues until nothing is left to do. */
  TurnClaimed: z.object({
    step: text,
    worker: text,
    attempt: z.int().min(1),
    /**
     * Set if the claim is not an attempt at a step: a program runs a turn, or the current holder of the conversation continues after a
     * reply.
     */
    isTurn: z.literal(true).optional(),
    at,
  }),
  /** The worker has released the conversation. */
  TurnReleased: z.object({
    /** Newest step that the worker knew of when it last looked for work. */
    step: text,
    worker: text,
    /**
     * Reason for the release. `done`: nothing is left to do; `waiting`: calls wait for a decision or result; `shutdown`: the worker was
     * told to stop; `free`: any worker may continue; `failed`: the attempt failed.
     */
    reason: z.enum(['done', 'waiting', 'shutdown', 'free', 'failed']),
    /**
     * Milliseconds to wait before the next attempt, counted from when this event was received, or, for workers that begin later, from
     * when it was recorded.
     */
    waitMs: z.int().min(0).optional(),
    error: z.string().optional(),
    at,
  }),
  /** The step is not attempted again until it is retried (`retry`), or until a message or a rewind is recorded in the conversation. */
  TurnParked: z.object({ step: text, attempts: z.int().min(1), errors: z.array(z.string()), at }),
  /** The step may be attempted again. */
  TurnUnparked: z.object({ by: text, reason: z.string().optional(), at }),
  /** Workers begin no step of the conversation until it is resumed. People are not affected. */
  TurnsPaused: z.object({ by: text, reason: z.string().optional(), at }),
  TurnsResumed: z.object({ by: text, reason: z.string().optional(), at }),
}

export type TurnEventType = keyof typeof turnSchemas
export type TurnEventData = DataOf<typeof turnSchemas>
export type TurnFact<T extends TurnEventType = TurnEventType> = FactOf<typeof turnSchemas, T>
export type RecordedTurnFact<T extends TurnEventType = TurnEventType> = TurnFact<T> & FactEnvelope

/** Reports whether a worker released a step because its attempt failed, also if others may continue at once. */
export const isFailedRelease = ({ error, reason }: TurnEventData['TurnReleased']): boolean =>
  error !== undefined || reason === 'failed'

export const turnCodec: Codec<typeof turnSchemas> = codecOf(turnSchemas)
