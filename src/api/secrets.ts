/** Where a URL names who connects, and with what password; encoded, as it may be, too. Greedy: a password may hold an @ itself. */
const userinfo =
  /((?<![a-z0-9+.-])(?!sqlite:\/\/\/)[a-z][a-z0-9+.-]*:\/\/|esdb(?:\+discover)?:\/?)\S*(?:@|%40)/gi
const userinfoOfWord = /^(.*?(?:[a-z][a-z0-9+.-]*:\/\/|esdb(?:\+discover)?:\/?)).*(?:@|%40)/is
/** Parameters whose values are nobody's business. */
const parameters = /([?&][^=&\s]*(?:pass|pwd|secret|token|key|auth|credential)[^=&\s]*=)[^&\s'"]*/gi

/**
 * A text in which no URL shows who connects, with what password or token.
 *
 * @param words what somebody has typed, which the text may repeat: in these a password may hold spaces
 */
export const withoutSecrets = (text: string, words: readonly string[] = []): string =>
  words
    .filter((word) => userinfoOfWord.test(word) && !word.startsWith('sqlite:///'))
    .reduce((told, word) => told.replaceAll(word, word.replace(userinfoOfWord, '$1…@')), text)
    .replaceAll(userinfo, '$1…@')
    .replaceAll(parameters, '$1…')

/** Where a store is, without who connects; to be typed, with the credentials in the environment. */
export const withoutCredentials = (url: string): string =>
  withoutSecrets(url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^@/?#]*@/i, '$1'))

/** A path, or an address that names nobody: letters after a colon may be a password whose host was forgotten. */
const plain = /^(?:[\w./\\~ -]+|(?:[a-z][a-z0-9+.-]*:\/\/)?[\w.-]*(?::\d{1,5})?(?:\/[\w./~-]*)?)$/i

/** What a text that should have been a store's URL can be told of: all where it can hold no credentials, else its scheme. */
export const toldOf = (text: string): string => {
  if (text.length > 0 && text.length <= 200 && plain.test(text)) return text
  const [scheme] = /^[a-z][a-z0-9+.-]*:/i.exec(text) ?? []
  return scheme === undefined ? 'this text' : `${scheme}…`
}
