import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

const program = fileURLToPath(new URL('../../bin/palimpsest.js', import.meta.url))

/** Columns of the terminal in a picture. */
const columns = 92

/** The colours that the command line uses, by their number in an escape sequence. */
const styles: Readonly<Record<string, string>> = {
  1: 'font-weight:600',
  2: 'opacity:.6',
  31: 'color:#bd0a2e',
  32: 'color:#1746b0',
  33: 'color:#855700',
  34: 'color:#7548c4',
  35: 'color:#855700;font-weight:600',
  36: 'color:#00756a',
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Text of a terminal as HTML: each coloured run in an element of its own. */
const htmlOf = (text: string): string => {
  const [first = '', ...runs] = text.split('\x1b[')
  const on = new Map<string, string>()
  const spans = runs.map((run) => {
    const [, code = '', words = ''] = /^([\d;]*)m([^]*)$/.exec(run) ?? ['', '', stripVTControlCharacters(run)]
    if (code === '39') on.delete('color')
    else if (code === '22') on.delete('weight')
    else if (code === '0' || code === '') on.clear()
    else if (styles[code] !== undefined) on.set(Number(code) > 29 ? 'color' : 'weight', styles[code])
    return `<span style="${[...on.values()].join(';')}">${escaped(words)}</span>`
  })
  return escaped(first) + spans.join('')
}

/** Runs the built program in a folder, in a terminal of 92 columns, and returns what it shows there, with its colours. */
export const printed = (cwd: string, ...args: string[]): string => {
  const command = [`stty cols ${columns};`, process.execPath, program, ...args].join(' ')
  const env = { PATH: process.env['PATH'], HOME: cwd, TERM: 'xterm-256color' }
  return execFileSync('script', ['-qc', command, '/dev/null'], { cwd, encoding: 'utf8', env }).replaceAll(
    '\r',
    '',
  )
}

/** A page that shows commands and what they print. */
export const terminalPage = (shown: readonly (readonly [command: string, output: string])[]): string => {
  const text = shown.map(([command, output]) => `<b>$ ${escaped(command)}</b>\n${htmlOf(output.trimEnd())}`)
  return `<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #fdfcfa; color: #1d1b18 }
pre { margin: 0; padding: 20px 24px; font: 13px/20px ui-monospace, 'DejaVu Sans Mono', monospace; width: ${columns + 2}ch; white-space: pre-wrap; word-break: break-all }
</style><pre>${text.join('\n\n')}</pre>`
}
