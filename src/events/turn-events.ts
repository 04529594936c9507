import { z } from 'zod'
import { askingShape, isoTime, START } from './events.ts'
import { type Codec, codecOf, type DataOf, type FactOf, type FactEnvelope } from './facts.ts'

// What the turns of a conversation do besides saying something. It is in a stream of its own (ADR 21): none of it is history.

/** The conversation's last position as the writer knew it. */
const at = z.int().min(START)
/** Position of the reply that makes the call. */
const reply = z.int().min(0)
const text = z.string().min(1)

/** The schema of the data of what turns record. A call is named by its reply's position and its id, which alone need not be unique. */
export const turnSchemas = {
  /** First event of the stream: its id names the stream in the replies whose writers record starts here. */
  TurnsBegun: z.object({ at }),
  /** The tool is about to be run. Recorded before any effect that it may have. */
  ToolStarted: z.object({ reply, call: text, tool: text, effect: z.enum(['idempotent', 'unsafe']), at }),
  /** These calls wait: for somebody's approval, or for a result from outside (`handed-back`). */
  CallsWaiting: z.object({
    reply,
    calls: z.array(text).min(1),
    why: z.enum(['approval', 'handed-back']),
    /** When the approval is too late: the call is then denied. */
    until: z.string().regex(isoTime).optional(),
    /** What the user says meanwhile is no denial. */
    keep: z.literal(true).optional(),
    /** What the tools' schemas have made of inputs, by call, where that differs from what the model gave. */
    inputs: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
    /** They wait again: somebody has withdrawn an approval. */
    withdrawn: z.object({ by: text, reason: z.string().optional() }).optional(),
    at,
  }),
  /** Somebody decided whether a waiting call may be run. The first decision of a wait counts. */
  CallDecided: z.object({
    reply,
    call: text,
    /** Revision of the `CallsWaiting` that it answers. */
    wait: z.int().min(0),
    decision: z.enum(['approved', 'denied']),
    by: text,
    note: z.string().optional(),
    /** Of a denial: the model is told. */
    reason: z.string().optional(),
    /** What the tool is given in place of the model's input. */
    input: z.record(z.string(), z.unknown()).optional(),
    at,
  }),
  /** Whoever gives the conversation a turn now ends it. */
  TurnCancelled: z.object({ by: text.optional(), reason: z.string().optional(), at }),
  /** Workers are asked to answer what is there. */
  TurnRequested: z.object({ ...askingShape, at }),
  /** This worker takes the step: it calls the model, or runs its tools, and continues until nothing is left to do. */
  TurnClaimed: z.object({
    step: text,
    worker: text,
    attempt: z.int().min(1),
    /** No attempt of a step: a program gives a turn, or whoever holds the conversation continues after a reply. */
    isTurn: z.literal(true).optional(),
    at,
  }),
  /** The worker has let go of the conversation. */
  TurnReleased: z.object({
    /** The newest step that it knew of when it last looked at what there is to do. */
    step: text,
    worker: text,
    /**
     * `done`: nothing is left to do; `waiting`: calls wait for somebody; `shutdown`: the worker was told to stop; `free`: it is for anyone
     * to continue; `failed`: the attempt failed.
     */
    reason: z.enum(['done', 'waiting', 'shutdown', 'free', 'failed']),
    /** How long to wait before the next attempt, in milliseconds from when this was received. */
    waitMs: z.int().min(0).optional(),
    error: z.string().optional(),
    at,
  }),
  /** Nobody tries this step again until it is unparked, or something is said or rewound. */
  TurnParked: z.object({ step: text, attempts: z.int().min(1), errors: z.array(z.string()), at }),
  /** It is tried again. */
  TurnUnparked: z.object({ by: text, reason: z.string().optional(), at }),
  /** Workers begin no step of the conversation until it is resumed. What people do is not affected. */
  TurnsPaused: z.object({ by: text, reason: z.string().optional(), at }),
  TurnsResumed: z.object({ by: text, reason: z.string().optional(), at }),
}

export type TurnEventType = keyof typeof turnSchemas
export type TurnEventData = DataOf<typeof turnSchemas>
export type TurnFact<T extends TurnEventType = TurnEventType> = FactOf<typeof turnSchemas, T>
export type RecordedTurnFact<T extends TurnEventType = TurnEventType> = TurnFact<T> & FactEnvelope

export const turnCodec: Codec<typeof turnSchemas> = codecOf(turnSchemas)
