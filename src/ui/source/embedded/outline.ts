import { isFailure, kindOf, type Log, type MarkerOutline, retriesIn } from '../../../core.ts'
import type { EmbeddedFile } from './form.ts'

// Data for the ribbon and the curve, in the format of the server's `outline` and `overview` routes.

const markersIn = (events: Log): readonly MarkerOutline[] =>
  events.flatMap(({ position, type, data }): readonly MarkerOutline[] =>
    type === 'Condensed' || type === 'Truncated'
      ? [
          {
            position,
            kind: type === 'Condensed' ? 'condensed' : 'truncated',
            ...data.covers,
            hidden: data.messagesHidden,
            ...data.tokens,
            ...('method' in data && { method: data.method }),
          },
        ]
      : [],
  )

const rewindsIn = (events: Log) =>
  events.flatMap(({ position, type, data }) => (type === 'Rewound' ? [{ position, to: data.to }] : []))

const failedIn = (events: Log): readonly number[] =>
  events.flatMap((event) => (isFailure(event) ? [event.position] : []))

const utf8 = new TextEncoder()

/** Returns the outline of positions `from` through `to`. */
export const outlineOf = ({ events, tokens }: EmbeddedFile, from: number, to: number) => {
  const some = events.slice(from, to + 1)
  return {
    from,
    to: Math.min(to, events.length - 1),
    last: events.length - 1,
    indexed: events.length - 1,
    kinds: some.map(kindOf).join(''),
    sizes: some.map(({ data }) => utf8.encode(JSON.stringify(data)).length),
    tokens: tokens.slice(from, to + 1),
    times: some.map(({ metadata }) => Date.parse(metadata.time)),
    markers: markersIn(some),
    rewinds: rewindsIn(some),
    restores: some.flatMap(({ position, type, data }) =>
      type === 'Restored' ? [{ position, marker: data.marker }] : [],
    ),
    calls: some.flatMap(({ position, type, data }) =>
      type === 'MessageAppended' && data.origin?.context ? [position] : [],
    ),
    failed: failedIn(some),
    retries: retriesIn(events).filter((position) => position >= from && position <= to),
  }
}

/**
 * Returns an overview of the conversation in at most `most` buckets, each with its lowest and highest tokens and its numbers of events of
 * each kind, of markers, rewinds, errors and retries.
 */
export const overviewOf = ({ events, tokens }: EmbeddedFile, most: number) => {
  const buckets = Math.min(most, events.length)
  const retries = new Set(retriesIn(events))
  const first = Array.from({ length: buckets }, (_, bucket) => Math.ceil((bucket * events.length) / buckets))
  const parts = first.map((from, bucket) => ({
    events: events.slice(from, first[bucket + 1]),
    tokens: tokens.slice(from, first[bucket + 1]),
  }))
  return {
    last: events.length - 1,
    indexed: events.length - 1,
    buckets,
    first,
    min: parts.map((part) => part.tokens.reduce((least, count) => Math.min(least, count), Infinity)),
    max: parts.map((part) => part.tokens.reduce((greatest, count) => Math.max(greatest, count), 0)),
    kinds: Object.fromEntries(
      [...new Set(events.map(kindOf))].map((kind) => [
        kind,
        parts.map((part) => part.events.filter((event) => kindOf(event) === kind).length),
      ]),
    ),
    markers: parts.map((part) => markersIn(part.events).length),
    rewinds: parts.map((part) => rewindsIn(part.events).length),
    failed: parts.map((part) => failedIn(part.events).length),
    retries: parts.map((part) => part.events.filter(({ position }) => retries.has(position)).length),
  }
}
