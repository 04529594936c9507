import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { digestOf } from '../../../src/agent/receipts/canonical.ts'
import { currentRenderer, requestOf, type RequestOptions } from '../../../src/agent/receipts/request.ts'
import type { Event } from '../../../src/events/events.ts'
import { effective } from '../../../src/projections/effective.ts'
import type { RepairKind } from '../../../src/projections/render/repairs.ts'
import type { RenderResult } from '../../../src/projections/render/render.ts'
import { left, right } from '../../support/either.ts'
import { logOf, user } from '../../support/log.ts'

/** A log, and the request that it made when the renderer was the current one. Never edited. */
interface Golden {
  readonly options: Omit<RequestOptions, 'renderer'>
  readonly events: readonly Event[]
  readonly request: RenderResult
  readonly digest: string
}

const folder = new URL('../../golden/renderers/', import.meta.url)
const versions = readdirSync(folder).map(Number)
const goldenOf = (version: number): readonly (readonly [string, Golden])[] => {
  const files = new URL(`${version}/`, folder)
  return readdirSync(files).map((file) => [
    file,
    JSON.parse(readFileSync(new URL(file, files), 'utf8')) as Golden,
  ])
}

const frozen =
  'receipts of requests made before would fail: leave this version as it was (copy src/projections/render as it was into a folder of its own, register it in src/agent/receipts/request.ts) and give the changed one the next number; docs/adr/0011-receipts.md'

describe.each(versions)('renderer %i makes the request that it made, to the byte', (version) => {
  it.each(goldenOf(version))('%s', (_, { options, events, request, digest }) => {
    const made = right(requestOf(effective(logOf(...events)), { renderer: version, ...options }))
    expect(JSON.stringify(made, undefined, 2), `renderer ${version}: ${frozen}`).toBe(
      JSON.stringify(request, undefined, 2),
    )
    expect(digestOf(made), `renderer ${version}: ${frozen}`).toBe(digest)
  })

  it('of more messages than a request may hold', () => {
    const long = Array.from({ length: 100_002 }, (_, index) => said(index))
    const made = right(requestOf(effective(logOf(...long)), { renderer: version }))
    expect(digestOf(made), `renderer ${version}: ${frozen}`).toBe(
      '12496d2a113ef23397e09d89ea22f8c572fde61c1a64b6fbb62a5c1775f5c644',
    )
    expect(made.repairs.map(({ kind }) => kind)).toEqual(['history-cut'])
  })
})

const said = (index: number): Event => ({
  type: 'MessageAppended',
  data: { role: index % 2 === 0 ? 'user' : 'assistant', content: [{ type: 'text', text: `${index}` }] },
})

describe('the golden files', () => {
  const kinds: Readonly<Record<RepairKind, true>> = {
    'result-dropped': true,
    'result-as-text': true,
    'call-answered': true,
    'results-moved': true,
    'id-replaced': true,
    'input-wrapped': true,
    'server-tool-dropped': true,
    'thinking-dropped': true,
    'blank-dropped': true,
    'block-dropped': true,
    'media-replaced': true,
    'source-corrected': true,
    'message-dropped': true,
    'roles-merged': true,
    'system-folded': true,
    'system-moved': true,
    'message-inserted': true,
    'field-dropped': true,
    'surrogate-replaced': true,
    'cache-control-dropped': true,
    'compaction-applied': true,
    'whitespace-trimmed': true,
    'tools-recalled': true,
    'tools-unknown': true,
    'history-cut': true,
  }

  it('hold the current renderer to every repair', () => {
    const shown = goldenOf(currentRenderer).flatMap(([, { request }]) =>
      request.repairs.map(({ kind }) => kind),
    )
    expect(new Set([...shown, 'history-cut'])).toEqual(new Set(Object.keys(kinds)))
  })

  it('are there for every renderer', () => {
    const { known } = left(requestOf(effective(logOf(user('Hello.'))), { renderer: -1 }))
    expect(known).toEqual(versions.toSorted((a, b) => a - b))
    expect(known).toContain(currentRenderer)
  })
})
