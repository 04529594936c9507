import { pacer } from '../../store/breath.ts'
import { maskedText, textsIn } from './texts.ts'

// Finds credentials with the recommended rules of secretlint, which are loaded when the first text is scanned.

/** A credential in content that is about to be exported. */
export interface SecretMatch {
  /** Kind of credential, as the rule calls it, such as `GITHUB_TOKEN`. */
  readonly kind: string
  /** Masked form of the credential. */
  readonly excerpt: string
}

/** A credential and the place that contains it. */
export interface PlacedSecret<P> extends SecretMatch {
  readonly place: P
}

/** A scanner of texts for credentials. */
interface SecretScanner<P> {
  /** Scans the texts of a JSON value. */
  readonly pass: (place: P, value: unknown) => Promise<void>
  /** Returns what was found, in order, once all values were passed. */
  readonly end: () => Promise<readonly PlacedSecret<P>[]>
}

/**
 * Number of characters that are scanned at once. Small texts are scanned together, because each scan takes 0.2 ms, and a scan is not
 * interrupted.
 */
const windowLength = 64 * 1024
/** Number of characters that two windows of a long text share: no credential is longer. */
const overlap = 16 * 1024

/** Maximum number of distinct findings. */
const mostFindings = 1_000

/** Fields whose names say nothing about their texts. */
const plain: ReadonlySet<string> = new Set(['', 'text', 'content', 'thinking', 'system', 'description'])

/** Creates a scanner. Memory: a window of text, and each distinct finding. */
export const createSecretScanner = async <P>(): Promise<SecretScanner<P>> => {
  const lint = await loadRules()
  const pace = pacer()
  const found = new Map<string, PlacedSecret<P>>()
  const numbers = new Map<P, number>()
  let waiting: { readonly place: P; readonly text: string }[] = []
  let length = 0
  const scan = async (place: P, text: string): Promise<void> => {
    for (const { kind, secret } of await lint(text)) {
      if (!numbers.has(place)) numbers.set(place, numbers.size)
      // Windows overlap, and an event may repeat a credential.
      const key = `${numbers.get(place)} ${kind} ${secret}`
      if (found.size < mostFindings && !found.has(key))
        found.set(key, { place, kind, excerpt: maskedText(secret) })
    }
  }
  const flush = async (): Promise<void> => {
    const all = waiting
    waiting = []
    length = 0
    const hits = await lint(all.map(({ text }) => text).join('\n\n'))
    // Scanned one by one only if there is a match: a match must lie within one text.
    if (hits.length > 0) for (const { place, text } of all) await scan(place, text)
  }
  const add = async (place: P, text: string): Promise<void> => {
    if (length + text.length > windowLength) await flush()
    waiting.push({ place, text })
    length += text.length
    await pace(text.length)
  }
  return {
    pass: async (place, value) => {
      for (const { name, text } of textsIn(value)) {
        const named = plain.has(name) ? text : `${name}=${text}`
        for (let from = 0; from === 0 || from + overlap < named.length; from += windowLength - overlap)
          await add(place, named.slice(from, from + windowLength))
      }
    },
    end: async () => {
      await flush()
      return [...found.values()]
    },
  }
}

/** Rule that lets a comment in a text switch other rules off. A conversation must not be able to. */
const comments = '@secretlint/secretlint-rule-filter-comments'

const loadRules = async () => {
  const [{ lintSource }, preset, { secretLintProfiler }] = await Promise.all([
    import('@secretlint/core'),
    import('@secretlint/secretlint-rule-preset-recommend'),
    import('@secretlint/profiler'),
  ])
  // It would keep an entry for each scan.
  secretLintProfiler.setEnabled(false)
  const config = {
    rules: preset.rules
      .filter(({ meta }) => meta.id !== comments)
      .map((rule) => ({ id: rule.meta.id, rule, options: {} })),
  }
  return async (text: string) => {
    const source = { content: text, filePath: 'event', ext: '', contentType: 'text' as const }
    const { messages } = await lintSource({ source, options: { config, noPhysicFilePath: true } })
    return messages.map(({ messageId, range: [start, end] }) => ({
      kind: messageId,
      secret: text.slice(start, end),
    }))
  }
}
