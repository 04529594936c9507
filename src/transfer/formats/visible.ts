// C0, DEL, C1; zero-width and bidirectional controls, which reorder what a terminal shows; line and paragraph separators; tags and
// annotations, which are invisible. U+200C and U+200D are left alone: Persian, Hindi and many emoji need them.
const controls =
  // oxlint-disable-next-line no-control-regex -- it matches control characters
  /[\u0000-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/**
 * Makes a line of text safe to show on a terminal, so that no character moves the cursor, changes a colour or reorders the text;
 * recorded tool output may contain such characters. ESC becomes `␛`, U+202E becomes `\u{202e}`, and a tab becomes two spaces.
 */
export const visible = (text: string): string => text.toWellFormed().replaceAll(controls, picture)

const picture = (control: string): string => {
  const code = control.codePointAt(0) ?? 0
  if (control === '\t') return '  '
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  return code === 0x7f ? '␡' : `\\u{${code.toString(16)}}`
}

/** Like `visible`, for multi-line text. */
export const visibleLines = (text: string): string => text.split('\n').map(visible).join('\n')

/** Like `visible`, but for a document: tabs and line ends are kept. Windows line ends become plain newlines. */
export const visibleDocument = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll('\r\n', '\n')
    .replaceAll(controls, (control) => (control === '\n' || control === '\t' ? control : picture(control)))

/** Escapes raw control characters in JSON. The text is then safe to show on a terminal, and its parsed value does not change. */
export const visibleJson = (json: string): string =>
  json.replaceAll(controls, (control) => (control === '\n' ? control : escaped(control)))

const escaped = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
