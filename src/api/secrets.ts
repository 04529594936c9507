/**
 * Matches the start of a URL that may contain credentials. The lookbehind ensures that each run of scheme characters is tried only
 * once, so matching takes time linear in the length of the text.
 */
const urlStart =
  /(?<![a-z0-9+.-])(?!sqlite:\/\/\/)[0-9+.-]*[a-z][a-z0-9+.-]*:\/\/|(?:esdb|kurrentdb)(?:\+discover)?:\/?/i
/** Matches the name of a parameter and its `=`. The lookbehind makes this matching linear, too. */
const assigned = /(?<![^=&\s])[^=&\s]*=/g
const secretName = /pass|pwd|secret|token|key|auth|credential/i

/**
 * Removes users, passwords and tokens from all URLs in a text.
 *
 * @param words command-line words as typed; if the text repeats one, its password is removed even if it contains spaces
 */
export const withoutSecrets = (text: string, words: readonly string[] = []): string => {
  const told = words.reduce((whole, word) => {
    const hidden = withoutUserinfo(word)
    return hidden === word ? whole : whole.replaceAll(word, () => hidden)
  }, text)
  return withoutParameters(told.replaceAll(/\S+/g, withoutUserinfo))
}

/** Hides the text between the first URL's `//` and the last `@`, encoded or not: a password may contain an `@`. */
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

/** Returns a store's URL without credentials, for use in a command line that takes its credentials from the environment. */
export const withoutCredentials = (url: string): string =>
  withoutSecrets(url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^@/?#]*@/i, '$1'))

/**
 * Matches a path, or an address without credentials. Letters after a colon do not match, because they may be the password in a URL that
 * lacks a host.
 */
const plain = /^(?:[\w./\\~ -]+|(?:[a-z][a-z0-9+.-]*:\/\/)?[\w.-]*(?::\d{1,5})?(?:\/[\w./~-]*)?)$/i

/**
 * Returns the part of an invalid store URL that a message may repeat: the whole text if it cannot contain credentials, otherwise its
 * scheme.
 */
export const printableUrl = (text: string): string => {
  if (text.length > 0 && text.length <= 200 && plain.test(text)) return text
  const [scheme] = /^[a-z][a-z0-9+.-]*:/i.exec(text) ?? []
  return scheme === undefined ? 'this text' : `${scheme}…`
}
