/**
 * The start of a URL that may have credentials. Thanks to the lookbehind, each run of scheme characters is tried only once, so matching
 * takes time linear in the length of the text.
 */
const urlStart = /(?<![a-z0-9+.-])(?!sqlite:\/\/\/)[0-9+.-]*[a-z][a-z0-9+.-]*:\/\/|esdb(?:\+discover)?:\/?/i
/** The name of a parameter and its `=`. Here, too, the lookbehind makes matching linear. */
const assigned = /(?<![^=&\s])[^=&\s]*=/g
const secretName = /pass|pwd|secret|token|key|auth|credential/i

/**
 * Returns a text in which no URL shows a user, a password or a token.
 *
 * @param words what was typed, which the text may repeat: a password in these may contain spaces
 */
export const withoutSecrets = (text: string, words: readonly string[] = []): string => {
  const told = words.reduce((whole, word) => {
    const hidden = withoutUserinfo(word)
    return hidden === word ? whole : whole.replaceAll(word, () => hidden)
  }, text)
  return withoutParameters(told.replaceAll(/\S+/g, withoutUserinfo))
}

/** Hides everything from the first URL's `//` to the last `@`, encoded or not: a password may contain an `@`. */
const withoutUserinfo = (word: string): string => {
  const found = urlStart.exec(word)
  if (!found) return word
  const start = found.index + found[0].length
  const end = Math.max(word.lastIndexOf('@') + 1, word.lastIndexOf('%40') + 3)
  return end > start ? `${word.slice(0, start)}…@${word.slice(end)}` : word
}

/** Hides the values of parameters whose names suggest a secret. */
const withoutParameters = (text: string): string => {
  let told = ''
  let at = 0
  for (const { index, 0: assignment } of text.matchAll(assigned)) {
    const name =
      text[index - 1] === '&' ? assignment : assignment.slice(assignment.indexOf('?') + 1 || Infinity)
    if (index < at || !secretName.test(name)) continue
    const value = index + assignment.length
    told += `${text.slice(at, value)}…`
    at = endOfValue(text, value)
  }
  return told + text.slice(at)
}

const endOfValue = (text: string, from: number): number => {
  const end = /[&\s'"]/g
  end.lastIndex = from
  return end.exec(text)?.index ?? text.length
}

/** Returns a store's URL without credentials, fit to be typed; the credentials are in the environment. */
export const withoutCredentials = (url: string): string =>
  withoutSecrets(url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^@/?#]*@/i, '$1'))

/**
 * Matches a path, or an address without credentials. Letters after a colon do not match: they may be a password whose host was
 * forgotten.
 */
const plain = /^(?:[\w./\\~ -]+|(?:[a-z][a-z0-9+.-]*:\/\/)?[\w.-]*(?::\d{1,5})?(?:\/[\w./~-]*)?)$/i

/**
 * Returns what a message may repeat of a text that should have been a store's URL: all of it if it cannot contain credentials,
 * otherwise its scheme.
 */
export const printableUrl = (text: string): string => {
  if (text.length > 0 && text.length <= 200 && plain.test(text)) return text
  const [scheme] = /^[a-z][a-z0-9+.-]*:/i.exec(text) ?? []
  return scheme === undefined ? 'this text' : `${scheme}…`
}
