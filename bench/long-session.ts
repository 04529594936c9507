import { closeSync, openSync, writeSync } from 'node:fs'

/** An entry of Claude Code, as far as it matters here. */
interface Entry {
  readonly [field: string]: unknown
  readonly sessionId?: string
  readonly parentUuid?: string | null
}

const session = '11111111-1111-4111-8111-111111111111'
const uuid = /\b([\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-)[\da-f]{6}([\da-f]{6})\b/g

/**
 * Writes one session of Claude Code of about so many bytes: these sessions one after the other, again and again, each continued from the
 * one before, with ids of its own.
 */
export const writeLongSession = (file: string, sessions: readonly string[], bytes: number): void => {
  const all = sessions.map((text) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry),
  )
  const out = openSync(file, 'w')
  let end: string | null = null
  try {
    for (let copy = 0, written = 0; written < bytes; copy++) {
      const next = copyOf(all[copy % all.length] ?? [], copy, end)
      end = next.end
      written += writeSync(out, next.text)
    }
  } finally {
    closeSync(out)
  }
}

const copyOf = (entries: readonly Entry[], copy: number, before: string | null) => {
  const mark = copy.toString(16).padStart(6, '0')
  const old = entries.find(({ sessionId }) => sessionId !== undefined)?.sessionId ?? ''
  const lines = entries.map((entry) => {
    const isRoot = entry.parentUuid === null && entry['isSidechain'] !== true && !entry['logicalParentUuid']
    return JSON.stringify(entry)
      .replaceAll(old, 'SESSION')
      .replaceAll(uuid, `$1${mark}$2`)
      .replaceAll(/\b(?:toolu|msg|req)_\w+/g, `$&${mark}`)
      .replaceAll('SESSION', session)
      .replace('"parentUuid":null', isRoot ? `"parentUuid":${JSON.stringify(before)}` : '$&')
  })
  const last = lines
    .map((line) => JSON.parse(line) as Entry)
    .findLast((entry) => entry['uuid'] !== undefined && entry['isSidechain'] !== true)
  return { text: `${lines.join('\n')}\n`, end: last ? String(last['uuid']) : before }
}
