import { createHash } from 'node:crypto'

// Puts our own words in place of a client's, so that a fixture shows the shape of a text and nothing of it. A word always becomes the same
// word, and our words stay: what was a part of another text still is, and to reword twice is to reword once.

const words =
  'a an as at by in it of on or to and but day far for hill lake leaf near path rain reed road rock sand star tree wind wood bird boat cloud field grass house light river shore stone water amber basket bridge candle copper forest garden harbor lantern meadow orchard pebble saddle silver timber valley willow blanket chimney feather gallery hillside lighthouse mountain riverbank snowfall stairway sunflower thunder waterfall windmill'.split(
    ' ',
  )
const ours = new Set(words)

/** What the scripted sessions say, names of tags, and our paths. */
export const kept =
  /CALL \w+ \{[^\n]*\}|(?:Reply|Thought|Summary) \d+(?: of what was said)?|Hello\.|The (?:first|only) line\.|Elsewhere\.|OVERLOADED once\.|After the compaction\.|In a fork\.|To be forgotten\.|USAGE \d+ is (?:nearly all|too much)\.|Compacted by itself\.|(?:echo )?from the (?:subagent|shell)|cat notes\.txt|\/home\/ann(?:\/project(?:\/notes\.txt)?)?|<\/?[a-z][a-z_-]*(?=[ >])/g

const numberOf = (word: string): number =>
  createHash('sha256').update(word.toLowerCase()).digest().readUInt32BE()

/** Returns one of our words for a word, about as long. */
const ourWord = (word: string): string => {
  if (ours.has(word.toLowerCase())) return word
  const alike = words.filter(({ length }) => Math.abs(length - Math.min(word.length, 9)) <= 1)
  const next = alike[numberOf(word) % alike.length] ?? 'a'
  return /^\p{Lu}/u.test(word) ? `${next.slice(0, 1).toUpperCase()}${next.slice(1)}` : next
}

/** Longest part of a line between two of our own phrases, in characters. */
const longest = 12

const shortened = (text: string): string =>
  text.length <= longest ? text : text.slice(0, Math.max(1, text.lastIndexOf(' ', longest)))

const rewordedPart = (part: string): string =>
  shortened(
    part.replaceAll(/[^\p{L}\p{N}\s!-~]/gu, '-').replaceAll(/\p{L}[\p{L}\p{N}]*/gu, (word) => ourWord(word)),
  )

/** Reports whether a text is a name, a number or a date, which stays as it is. */
export const isName = (text: string): boolean =>
  text === 'https://json-schema.org/draft/2020-12/schema' ||
  /^(?:text|image|application)\/[\w.+-]+$/.test(text) ||
  /^\/v1\/\w+$/.test(text) ||
  /^\/home\/ann(?:\/[\w.-]+)*$/.test(text) ||
  (text.length <= 64 && /^[\w.:+=-]*$/.test(text))

/** Returns a text with our own words, in which long lines are cut; names stay. */
export const reworded = (text: string): string =>
  isName(text) ? text : text.split('\n').map(rewordedLine).join('\n')

const rewordedLine = (line: string): string => {
  let [out, from] = ['', 0]
  for (const { 0: phrase, index } of line.matchAll(kept)) {
    out += rewordedPart(line.slice(from, index)) + phrase
    from = index + phrase.length
  }
  return out + rewordedPart(line.slice(from))
}
