import { z } from 'zod'
import { askingShape, isoTime, START } from './events.ts'
import { type Codec, codecOf, type DataOf, type FactOf, type FactEnvelope } from './facts.ts'

// What the turns of a conversation do besides saying something. It is in a stream of its own (ADR 21): none of it is history.

/** Last position of the conversation known to the writer. */
const at = z.int().min(START)
/** Position of the reply that makes the call. */
const reply = z.int().min(0)
const text = z.string().min(1)

/** Schemas of the data of what turns record. A call is identified by its reply's position and its id, which alone need not be unique. */
export const turnSchemas = {
  /** First event of the stream. Replies whose writers record tool starts in this stream refer to it by this event's id. */
  TurnsBegun: z.object({ at }),
  /** The tool is about to run. Recorded before any effect that it may have. */
  ToolStarted: z.object({ reply, call: text, tool: text, effect: z.enum(['idempotent', 'unsafe']), at }),
  /** The calls wait for an approval or for a result from outside (`handed-back`). */
  CallsWaiting: z.object({
    reply,
    calls: z.array(text).min(1),
    why: z.enum(['approval', 'handed-back']),
    /** Time at which the approval expires: the call is then denied. */
    until: z.string().regex(isoTime).optional(),
    /** Do not treat user messages sent meanwhile as a denial. */
    keep: z.literal(true).optional(),
    /** Inputs as the tools' schemas have transformed them, by call, if they differ from the model's. */
    inputs: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
    /** The calls wait again, as an approval was withdrawn. */
    withdrawn: z.object({ by: text, reason: z.string().optional() }).optional(),
    at,
  }),
  /** A person or program decided whether a waiting call may run. The first decision of a wait counts. */
  CallDecided: z.object({
    reply,
    call: text,
    /** Revision of the `CallsWaiting` that it answers. */
    wait: z.int().min(0),
    decision: z.enum(['approved', 'denied']),
    by: text,
    note: z.string().optional(),
    /** Reason of a denial, passed on to the model. */
    reason: z.string().optional(),
    /** Input for the tool in place of the model's. */
    input: z.record(z.string(), z.unknown()).optional(),
    at,
  }),
  /** The turn in progress in the conversation is to end. */
  TurnCancelled: z.object({ by: text.optional(), reason: z.string().optional(), at }),
  /** An answer was requested from the workers. */
  TurnRequested: z.object({ ...askingShape, at }),
  /** The worker takes the step: it calls the model or runs its tools, and continues until nothing is left to do. */
  TurnClaimed: z.object({
    step: text,
    worker: text,
    attempt: z.int().min(1),
    /** The claim is not an attempt of a step: a program gives a turn, or the holder of the conversation continues after a reply. */
    isTurn: z.literal(true).optional(),
    at,
  }),
  /** The worker has released the conversation. */
  TurnReleased: z.object({
    /** The newest step that the worker knew of when it last looked for work. */
    step: text,
    worker: text,
    /**
     * `done`: nothing is left to do; `waiting`: calls wait for a decision or result; `shutdown`: the worker was told to stop; `free`:
     * any worker may continue; `failed`: the attempt failed.
     */
    reason: z.enum(['done', 'waiting', 'shutdown', 'free', 'failed']),
    /** Milliseconds to wait before the next attempt, from when this was received. */
    waitMs: z.int().min(0).optional(),
    error: z.string().optional(),
    at,
  }),
  /** The step is not tried again until it is unparked, or something is said or rewound. */
  TurnParked: z.object({ step: text, attempts: z.int().min(1), errors: z.array(z.string()), at }),
  /** The step is tried again. */
  TurnUnparked: z.object({ by: text, reason: z.string().optional(), at }),
  /** Workers begin no step of the conversation until it is resumed. People are not affected. */
  TurnsPaused: z.object({ by: text, reason: z.string().optional(), at }),
  TurnsResumed: z.object({ by: text, reason: z.string().optional(), at }),
}

export type TurnEventType = keyof typeof turnSchemas
export type TurnEventData = DataOf<typeof turnSchemas>
export type TurnFact<T extends TurnEventType = TurnEventType> = FactOf<typeof turnSchemas, T>
export type RecordedTurnFact<T extends TurnEventType = TurnEventType> = TurnFact<T> & FactEnvelope

export const turnCodec: Codec<typeof turnSchemas> = codecOf(turnSchemas)
