// Reader of JSON that arrives in pieces.

type Key = string | number

/** Path of a value in JSON: field names and array indices. */
export type Path = readonly Key[]

export interface ReaderAt {
  /**
   * Takes the next piece of the JSON. Returns the characters that it adds to the value: decoded text for a string, JSON for any other
   * value.
   */
  readonly take: (piece: string) => string
  /** Reports whether the value is a string; undefined until the value begins. */
  readonly isString: () => boolean | undefined
  /** Reports whether the whole value has been read. */
  readonly isDone: () => boolean
}

const special = /["\\]/g
const escape = /\\(?:u[\da-fA-F]{4}|[^u])/y
const literal = /[^\s,\]}]+/y

/** Reads the value at a path in JSON that arrives in arbitrary pieces. Does not wait for the whole JSON or keep it in memory. */
export const readerAt = (path: Path): ReaderAt => {
  /** Current key in each open object and array; undefined in an object before a field name. */
  const places: (Key | undefined)[] = []
  let inString: 'name' | 'value' | undefined
  let inLiteral = false
  let name = ''
  let rest = ''
  let isString: boolean | undefined
  let isDone = false
  let text = ''
  let from = 0
  let added = ''

  const isWanted = (): boolean =>
    isString === undefined &&
    places.length === path.length &&
    places.every((key, index) => key === path[index])
  const begin = (index: number, isText: boolean): void => {
    if (!isWanted()) return
    isString = isText
    from = index
  }
  const isInWanted = (): boolean => isString !== undefined && !isDone
  const end = (index: number): void => {
    if (!isInWanted() || places.length !== path.length) return
    isDone = true
    if (!isString) added += text.slice(from, index)
  }
  const say = (characters: string): void => {
    if (inString === 'name') name += characters
    else if (isString && isInWanted()) added += characters
  }
  /** Scans a string from `index`; returns the index at which the scan stopped. */
  const through = (index: number): number => {
    special.lastIndex = index
    const stop = special.exec(text)?.index ?? text.length
    say(text.slice(index, stop))
    if (stop === text.length) return stop
    if (text[stop] === '"') {
      if (inString === 'name') places[places.length - 1] = name
      else end(stop + 1)
      inString = undefined
      return stop + 1
    }
    escape.lastIndex = stop
    const [escaped] = escape.exec(text) ?? []
    if (escaped === undefined) {
      // The rest of the escape sequence has not arrived yet.
      rest = text.slice(stop)
      text = text.slice(0, stop)
      return stop
    }
    say(JSON.parse(`"${escaped}"`) as string)
    return stop + escaped.length
  }
  /** Scans a token outside strings, from `index`; returns the index at which the scan stopped. */
  const over = (index: number): number => {
    const character = text.charAt(index)
    const top = places.length - 1
    if (inLiteral && ',]} \n\t\r'.includes(character)) {
      inLiteral = false
      end(index)
    }
    switch (character) {
      case '"':
        name = ''
        inString = top >= 0 && places[top] === undefined ? 'name' : 'value'
        if (inString === 'value') begin(index, true)
        return index + 1
      case '{':
      case '[':
        begin(index, false)
        places.push(character === '{' ? undefined : 0)
        return index + 1
      case '}':
      case ']':
        places.pop()
        end(index + 1)
        return index + 1
      case ',':
        places[top] = typeof places[top] === 'number' ? places[top] + 1 : undefined
        return index + 1
      case ':':
      case ' ':
      case '\n':
      case '\t':
      case '\r':
        return index + 1
      default:
        if (!inLiteral) begin(index, false)
        inLiteral = true
        literal.lastIndex = index
        return index + (literal.exec(text)?.[0].length ?? 1)
    }
  }

  return {
    isString: () => isString,
    isDone: () => isDone,
    take: (piece) => {
      text = rest + piece
      rest = ''
      added = ''
      from = 0
      let index = 0
      while (index < text.length && !isDone) index = inString ? through(index) : over(index)
      if (isInWanted() && !isString) added += text.slice(from)
      return added
    },
  }
}
