/** A call of the command line: its arguments, and where what it writes goes. */
export interface Call {
  readonly args: readonly string[]
  readonly stdout: 'out' | 'nowhere'
  readonly stderr: 'err' | 'out' | 'nowhere'
}

const piece = /'([^']*)'|"([^"$`\\]*)"|([^\s;|&<>$`\\'"()*?[\]{}~#!]+)/y
const separator = /[ \t]*(?:;|\n|$)[ \t\n]*/y
const redirection = /(2?)>[ \t]?(\/dev\/null|&1)/y
const blanks = /[ \t]+/y

/**
 * The calls of a shell command that is nothing but calls of the command line, one after another, with quoted or plain words, whose
 * output is dropped at most; undefined for every other, which only a shell understands.
 */
export const callsIn = (command: string): readonly Call[] | undefined => {
  let at = 0
  const next = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(command) ?? undefined
    if (found) at = pattern.lastIndex
    return found
  }
  const calls: Call[] = []
  while (at < command.length) {
    let [stdout, stderr]: [Call['stdout'], Call['stderr']] = ['out', 'err']
    const words: string[] = []
    while (!next(separator)) {
      next(blanks)
      const redirected = next(redirection)
      if (redirected) {
        const [, isError, target] = redirected
        if (isError !== '') stderr = target === '&1' ? stdout : 'nowhere'
        else if (target === '&1') return undefined
        else stdout = 'nowhere'
        continue
      }
      const word = wordOf(next)
      if (word === undefined) return undefined
      words.push(word)
    }
    const args = argsOf(words)
    if (!args) return undefined
    calls.push({ args, stdout, stderr })
  }
  return calls
}

/** A word, which may be several pieces: `--store='a b'`. */
const wordOf = (next: (pattern: RegExp) => RegExpExecArray | undefined): string | undefined => {
  let word: string | undefined
  for (let found = next(piece); found; found = next(piece)) {
    const [, single, double, plain] = found
    word = (word ?? '') + (single ?? double ?? plain ?? '')
  }
  return word
}

const programs = [['palimpsest'], ['npx', 'palimpsest']]

/** The arguments behind the program's name; undefined if another program is called. */
const argsOf = (words: readonly string[]): readonly string[] | undefined => {
  const named = programs.find((name) => name.every((word, index) => words[index] === word))
  if (named) return words.slice(named.length)
  if (words[0] !== 'npm' || words[1] !== 'start') return undefined
  return ['start', ...words.slice(words[2] === '--' ? 3 : 2)]
}
