/** Approximate maximum length of a combined piece, in characters. V8 allocates strings over 128 KiB one by one. */
const pieceSize = 32 * 1024

/**
 * Yields the output of `JSON.stringify` in pieces, so that a long document need not be in memory a second time as one string.
 *
 * @param value JSON: plain objects and arrays
 * @param depth number of levels of objects and arrays to split; deeper values are written whole
 */
export function* jsonPieces(value: unknown, isPretty: boolean, depth = 2): Generator<string> {
  let piece = ''
  for (const part of partsOf(value, isPretty, depth, '\n')) {
    piece += part
    if (piece.length < pieceSize) continue
    yield piece
    piece = ''
  }
  yield piece
}

/**
 * Yields the parts of a JSON text.
 *
 * @param margin newline and indentation at the beginning of each line
 */
function* partsOf(value: unknown, isPretty: boolean, depth: number, margin: string): Generator<string> {
  const isWhole = (each: unknown, left: number): boolean => left === 0 || !isPlain(each)
  const textOf = (each: unknown, before: string): string => {
    const json = JSON.stringify(each, undefined, isPretty ? 2 : undefined)
    // A line end in a string is written as \n, so every actual line end is between values.
    return isPretty && before.length > 1 ? json.replaceAll('\n', before) : json
  }
  if (isWhole(value, depth)) return yield textOf(value, margin)
  const inner = isPretty ? `${margin}  ` : ''
  const isArray = Array.isArray(value)
  let separator = isArray ? '[' : '{'
  // No entries: an array may have a million items.
  for (const key of isArray ? value.keys() : Object.keys(Object(value))) {
    const each: unknown = Reflect.get(Object(value), key)
    if (!isArray && isLeftOut(each)) continue
    const name = isArray ? '' : JSON.stringify(key) + (isPretty ? ': ' : ':')
    const part = isLeftOut(each) ? null : each
    if (isWhole(part, depth - 1)) yield separator + inner + name + textOf(part, inner)
    else {
      yield separator + inner + name
      yield* partsOf(part, isPretty, depth - 1, inner)
    }
    separator = ','
  }
  if (separator === ',') yield (isPretty ? margin : '') + (isArray ? ']' : '}')
  else yield isArray ? '[]' : '{}'
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !('toJSON' in value)

/** Reports whether JSON cannot represent a value. Objects omit such a value, and arrays contain null in its place. */
const isLeftOut = (value: unknown): boolean => value === undefined || typeof value === 'function'
