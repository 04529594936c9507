import { isBlock, isWellShaped } from '../events/blocks.ts'
import type { Block } from '../events/block-types.ts'
import type { Message } from '../events/event-types.ts'
import { memo } from '../projections/memo.ts'
import { isSetting, withoutSettings } from './settings.ts'

// Terms that an answer must have taken from somewhere: paths, file names, identifiers, ids and long numbers. Plain words may occur by
// chance. The patterns limit the length of most terms, because tool results may contain megabytes without a space.
const patterns = [
  /(?<![\w@.-])(?:~?(?<!(?<!:\/)\/)\/)?(?:[\w@.-]{1,200}\/){1,30}[\w@-][\w@.-]{0,200}/g,
  /\b[\w-]{2,100}\.[a-z][a-z0-9]{0,5}\b/gi,
  /\b[a-z]+[A-Z]\w*/g,
  /\b[A-Z][a-z0-9]{1,100}[A-Z]\w{0,100}/g,
  /\b[a-z0-9]+(?:_[a-z0-9]+)+\b/gi,
  /\b(?=[\w-]{0,99}\d)(?=[\w-]{0,99}[a-z])[\w-]{6,100}\b/gi,
  /\b[A-Z]{2,10}-\d{1,20}\b/g,
  /\b\d[\d.,]{2,60}\d\b/g,
]
const shortest = 4

/** Words with a character that is not a lowercase letter, up to the next space. Every term is part of such a word. */
const unusual = /(?<!\S)[a-z]*[^\sa-z]\S*/g

/** Finds the paths, identifiers, ids and long numbers in a text. */
export const termsIn = (text: string): ReadonlySet<string> => {
  const words = text.match(unusual)?.join(' ') ?? ''
  return new Set(
    patterns
      .flatMap((pattern) => words.match(pattern) ?? [])
      .map((term) => term.replace(/[.,]+$/, ''))
      .filter(({ length }) => length >= shortest),
  )
}

/** Returns the terms in a message. The result is memoized, because a hidden message is searched for every later answer. */
export const termsOf = memo((content: readonly Block[]) => termsIn(wordsOf(content)))

/** Names that everybody knows, in lowercase: an answer need not have taken them from anywhere. */
const common = new Set(
  `github gitlab javascript typescript postgresql mysql mongodb graphql websocket webassembly openai openapi
  openssl chatgpt oauth devops macos iphone youtube linkedin powershell jetbrains intellij node.js next.js vue.js
  utf-8 sha-256 sha-1 readme.md package.json foreach tostring indexof innerhtml textcontent classlist createelement
  appendchild queryselector queryselectorall getelementbyid addeventlistener startswith endswith findindex parseint
  parsefloat settimeout setinterval cleartimeout hasownproperty abortsignal abortcontroller typeerror rangeerror
  in_progress not_found tool_use tool_result tool_use_id files_with_matches is_nil is_list is_map is_binary is_atom
  is_integer __init__ a-za-z0-9 a-z0-9 and/or show/hide true/false yes/no`.split(/\s+/),
)

/** Member of an object that the language provides, or of the object itself. */
const libraryMember =
  /^(?:this|self|super|console|JSON|Math|Date|Object|Array|String|Number|Promise|process|Enum|os|sys)\.(\w+)$/
const fileEnding = /^(?:[cm]?[jt]sx?|py|exs?|go|rs|md|json)$/

/** A number that people choose, such as a limit. */
const roundNumber = /^[1-9]\d{0,2}(?:[.,]?0)+$/

/** Reports whether a term is a name that everybody knows. */
const isCommon = (term: string): boolean => {
  const member = libraryMember.exec(term)?.[1]
  // `process.ts` is a file.
  return common.has(term.toLowerCase()) || (member !== undefined && !fileEnding.test(member))
}

/**
 * Compares terms by how unlikely it is that two texts contain them by chance: paths first, then names with digits, then other
 * names, longer ones first; round numbers last.
 */
export const byDistinctness = (one: string, other: string): number =>
  classOf(one) - classOf(other) || other.length - one.length

const classOf = (term: string): number =>
  roundNumber.test(term) ? 3 : term.includes('/') ? 0 : /\d/.test(term) ? 1 : 2

/**
 * Returns the terms that an answer must have taken from the conversation: without the settings of the tools that it calls and without
 * names that everybody knows.
 */
export const termsUsedIn = (answer: readonly Message[]): ReadonlySet<string> => {
  const words = answer
    .map(({ content }) => content.map((block) => wordsIn(block, true)).join('\n'))
    .join('\n')
  return new Set([...termsIn(words)].filter((term) => !isCommon(term)))
}

/** Returns all text in blocks: texts, thinking, tool inputs, tool results, and the ids of tool calls. */
export const wordsOf = (blocks: readonly Block[]): string => blocks.map((block) => wordsIn(block)).join('\n')

/** @param isUsed omits the settings of tools */
const wordsIn = (block: Block, isUsed = false): string => {
  if (isBlock(block, 'text')) return block.text
  if (isBlock(block, 'thinking')) return block.thinking
  if (isBlock(block, 'tool_use')) {
    const words = [block.id, ...stringsIn(block.input, isUsed)].join('\n')
    return isUsed ? withoutSettings(words) : words
  }
  if (!isBlock(block, 'tool_result')) return ''
  const { content, tool_use_id: id } = block
  const said = Array.isArray(content) ? wordsOf(content.filter(isWellShaped)) : content
  return typeof said === 'string' ? `${id}\n${said}` : id
}

/** Returns the strings and numbers in a JSON value, at any depth. */
const stringsIn = (value: unknown, isUsed: boolean): readonly string[] => {
  const found: string[] = []
  const open = [value]
  for (let one = open.pop(); open.length > 0 || one !== undefined; one = open.pop()) {
    if (typeof one === 'string' || typeof one === 'number') found.push(String(one))
    else if (typeof one === 'object' && one !== null)
      for (const [name, inner] of Object.entries(one))
        if (!isUsed || !isSetting(name, inner)) open.push(inner)
  }
  return found
}
