import { Marked, type MarkedToken, type Token, type Tokens } from 'marked'
import { type ComponentChildren, type ComponentType, h } from 'preact'

// Loaded when the first text is rendered. Text from a model is untrusted: marked only splits it into tokens, of which Preact makes a few
// kinds of elements. HTML is shown as text, images are shown as their addresses, and links lead to websites and mail addresses only.

const marked = new Marked({ async: false, gfm: true })

/** Maximum nesting of quotes and lists. Deeper ones are shown unchanged. */
const deepest = 40

/** Component that shows code. */
type CodeView = ComponentType<{ readonly text: string; readonly language?: string | undefined }>

/**
 * Renders Markdown as elements, without scripts, styles, forms or anything that causes a request.
 *
 * @param isCut true if the text continues, so that its last block may be incomplete
 */
export const renderMarkdown = (text: string, isCut: boolean, Code: CodeView): ComponentChildren => {
  if (nested.test(text)) return h('p', {}, text)
  return piecesIn(isCut ? cutWhole(text) : text).map((piece) =>
    blocks(marked.lexer(piece), { Code, depth: 0 }),
  )
}

/** Quotes and lists nested so deep on one line that marked would take seconds. */
const nested = /^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*){40}/m

/** Maximum length of a text that marked reads at once, in characters: some texts take time that grows with the square of their length. */
const mostAtOnce = 20_000

/** Splits a long text at blank lines outside fenced code, or else where it must be. */
const piecesIn = (text: string): readonly string[] => {
  if (text.length <= mostAtOnce) return [text]
  const pieces: string[] = []
  let piece = ''
  let isFenced = false
  for (const line of text.match(/[^\n]{0,10000}(?:\n|$)|[^\n]{10000}/g) ?? []) {
    const isBlank = line.trim() === ''
    if (piece.length + line.length > mostAtOnce || (isBlank && !isFenced && piece.length > mostAtOnce / 2)) {
      pieces.push(piece)
      piece = ''
    }
    if (/^[ \t]*(?:```|~~~)/.test(line)) isFenced = !isFenced
    piece += line
  }
  return [...pieces, piece]
}

interface Within {
  readonly Code: CodeView
  readonly depth: number
}

const blocks = (tokens: readonly Token[], { Code, depth }: Within): ComponentChildren =>
  tokens.map((token) => block(token as MarkedToken, { Code, depth: depth + 1 }))

const block = (token: MarkedToken, within: Within): ComponentChildren => {
  const { Code, depth } = within
  if (depth > deepest) return token.raw
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'code':
      return h(Code, { text: token.text, language: token.lang?.split(/[\s,{]/)[0] })
    case 'heading':
      // Not a heading of the page, whose levels it would confuse.
      return h('p', { class: token.depth < 3 ? 'heading large' : 'heading' }, inline(token.tokens, depth))
    case 'hr':
      return h('hr', {})
    case 'blockquote':
      return h('blockquote', {}, blocks(token.tokens, within))
    case 'list':
      return h(
        token.ordered ? 'ol' : 'ul',
        token.ordered && token.start !== 1 ? { start: Number(token.start) } : {},
        token.items.map((item) => h('li', {}, blocks(item.tokens, within))),
      )
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ '
    case 'table':
      return h('div', { class: 'table' }, tableOf(token, depth))
    case 'paragraph':
      return h('p', {}, inline(token.tokens, depth))
    case 'html':
      return h('p', {}, token.text.trimEnd())
    case 'list_item':
      return blocks(token.tokens, within)
    case 'strong':
    case 'em':
    case 'del':
    case 'codespan':
    case 'br':
    case 'link':
    case 'image':
    case 'text':
    case 'escape':
      return inline([token], depth)
    default:
      return (token as Token).raw
  }
}

const tableOf = ({ header, rows }: Tokens.Table, depth: number) => {
  // A first column without a heading has the headings of the rows.
  const isNamedByRow = header[0]?.text.trim() === ''
  const nameOf = ({ header: isHeader, text }: Tokens.TableCell, index: number): 'th' | 'td' =>
    isHeader ? (text.trim() === '' ? 'td' : 'th') : index === 0 && isNamedByRow ? 'th' : 'td'
  const cells = (row: readonly Tokens.TableCell[]) =>
    h(
      'tr',
      {},
      row.map((cell, index) =>
        h(
          nameOf(cell, index),
          {
            ...(cell.align && { class: cell.align }),
            ...(!cell.header && index === 0 && isNamedByRow && { scope: 'row' }),
          },
          inline(cell.tokens, depth),
        ),
      ),
    )
  return h('table', {}, [h('thead', {}, cells(header)), h('tbody', {}, rows.map(cells))])
}

const inline = (tokens: readonly Token[], depth: number): ComponentChildren =>
  tokens.map((token) => span(token as MarkedToken, depth + 1))

const span = (token: MarkedToken, depth: number): ComponentChildren => {
  if (depth > deepest) return token.raw
  switch (token.type) {
    case 'strong':
    case 'em':
    case 'del':
      return h(token.type, {}, inline(token.tokens, depth))
    case 'codespan':
      return h('code', {}, token.text)
    case 'br':
      return h('br', {})
    case 'link':
      return allowed.test(token.href)
        ? h(
            'a',
            { href: token.href, ...(token.title && { title: token.title }) },
            inline(token.tokens, depth),
          )
        : token.raw
    case 'image':
      return `[image ${token.text}: ${token.href}]`
    case 'text':
      return 'tokens' in token && token.tokens ? inline(token.tokens, depth) : decoded(token.text)
    case 'escape':
    case 'html':
      return token.text
    case 'space':
    case 'def':
    case 'code':
    case 'heading':
    case 'hr':
    case 'blockquote':
    case 'list':
    case 'list_item':
    case 'checkbox':
    case 'table':
    case 'paragraph':
    default:
      return token.raw
  }
}

const allowed = /^(?:https?|mailto):/i

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u{A0}',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  rarr: '→',
  larr: '←',
  times: '×',
}

/** Decodes the entities that people write, and those by number. */
const decoded = (text: string): string =>
  text.replaceAll(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi,
    (all, tens?: string, hex?: string, name = '') => {
      const code = tens === undefined ? Number.parseInt(hex ?? '', 16) : Number(tens)
      if (code > 0 && code <= 0x10_ff_ff) return String.fromCodePoint(code)
      return entities[name] ?? all
    },
  )

/**
 * Cuts the beginning of a text where a block ends. If that would leave less than half of it, cuts the last block: code and tables at the
 * end of a line, other text at the end of a word.
 */
export const cutWhole = (given: string): string => {
  const text = given.replaceAll('\r\n', '\n')
  const tokens = marked.lexer(text).filter(({ type }) => type !== 'space')
  const last = tokens.at(-1)
  const from = last === undefined ? 0 : text.lastIndexOf(last.raw.trimEnd())
  if (last === undefined || from < 0) return text
  const before = text.slice(0, from).replace(/(?:^|\n)#{1,6} [^\n]*\s*$/, '')
  if (before.trim().length >= text.length / 2) return before
  if (last.type === 'code' || last.type === 'table') {
    const lines = text.slice(0, text.lastIndexOf('\n') + 1)
    if (lines.length > from) return lines
  }
  const words = /^[^]*(?=\s)/.exec(text)?.[0].trimEnd() ?? ''
  return words === '' ? text : `${words} …`
}
