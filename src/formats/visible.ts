// C0, DEL, C1; zero-width and bidirectional controls, which reorder what a terminal shows; line and paragraph separators; tags and
// annotations, which nobody sees. U+200C and U+200D are none of them: Persian, Hindi and many emoji are spelled with them.
const controls =
  // oxlint-disable-next-line no-control-regex -- these characters are what it is about
  /[\u0000-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/**
 * One line of text that a terminal shows as it is: no character in it moves the cursor, changes a colour or reorders what is
 * read. A recorded tool output may hold any of them. ESC becomes `␛`, U+202E `\u{202e}`, a tab two spaces.
 */
export const visible = (text: string): string => text.toWellFormed().replaceAll(controls, picture)

const picture = (control: string): string => {
  const code = control.codePointAt(0) ?? 0
  if (control === '\t') return '  '
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  return code === 0x7f ? '␡' : `\\u{${code.toString(16)}}`
}

/** As `visible`, of a text of several lines. */
export const visibleLines = (text: string): string => text.split('\n').map(visible).join('\n')

/** As `visible`, of a document: lines end as they do, also those of Windows, and tabs stay. */
export const visibleDocument = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll('\r\n', '\n')
    .replaceAll(controls, (control) => (control === '\n' || control === '\t' ? control : picture(control)))

/** JSON without raw control characters: the same value to a parser, and harmless to a terminal. */
export const visibleJson = (json: string): string =>
  json.replaceAll(controls, (control) => (control === '\n' ? control : escaped(control)))

const escaped = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
