// Numbers that `JSON.parse` would change without a word, found in the text of a body. A reviver that sees the source of each number, or a
// regular expression, would take several times as long as the parser.

/** Number of significant digits that a double (IEEE 754) keeps. */
const kept = 17
/** Number of characters below which a number without an exponent is always exact. */
const short = 16

/**
 * Returns the first number in a JSON text that a double cannot hold: an integer beyond ±(2^53 − 1), a number too large or too small, or
 * one with more than 17 significant digits. Undefined if there is none.
 *
 * @param json valid JSON
 */
export const inexactNumber = (json: string): string | undefined => {
  for (let index = 0; index < json.length;) {
    const code = json.charCodeAt(index)
    if (code === quote) index = endOfString(json, index)
    else if (code === minus || isDigit(code)) {
      const begin = index
      let hasExponent = false
      for (let part = code; isNumberPart(part); part = json.charCodeAt(++index))
        hasExponent ||= (part | lowerCase) === exponent
      if (!hasExponent && index - begin < short) continue
      const number = json.slice(begin, index)
      if (!isExact(number)) return number
    } else index++
  }
  return undefined
}

const [quote, plus, minus, dot, zero, nine, exponent, lowerCase] = [
  0x22, 0x2b, 0x2d, 0x2e, 0x30, 0x39, 0x65, 0x20,
]

const isDigit = (code: number): boolean => code >= zero && code <= nine

const isNumberPart = (code: number): boolean =>
  isDigit(code) || code === dot || code === plus || code === minus || (code | lowerCase) === exponent

const isExact = (number: string): boolean => {
  const value = Number(number)
  const [mantissa = ''] = number.split(/[eE]/, 1)
  if (mantissa === number && !number.includes('.')) return Number.isSafeInteger(value)
  let digits = 0
  let zeros = 0
  for (let index = 0; index < mantissa.length; index++) {
    const code = mantissa.charCodeAt(index)
    if (!isDigit(code)) continue
    // Zeros count only between other digits.
    if (code === zero) zeros++
    else {
      digits += digits > 0 ? zeros + 1 : 1
      zeros = 0
    }
  }
  return digits === 0 || (Number.isFinite(value) && value !== 0 && digits <= kept)
}

/** Returns the index after the string that begins at an index. */
const endOfString = (json: string, begin: number): number => {
  for (let end = json.indexOf('"', begin + 1); ; end = json.indexOf('"', end + 1)) {
    if (end < 0) return json.length
    let escapes = end
    while (json[escapes - 1] === '\\') escapes--
    if ((end - escapes) % 2 === 0) return end + 1
  }
}
