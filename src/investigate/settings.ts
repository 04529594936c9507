// Settings of tools, which are no knowledge about the task: timeouts, limits of output, and the working directory.

const numeric = /timeout|delay|interval|retries|offset|limit|^max|^ttl$|_?ms$|lines?$|page_?size/i
const folder = /^(?:cwd|work(?:ing)?_?dir(?:ectory)?|workspace)$/i

/** Reports whether a field of a tool's input is a setting: a number of a limit, or the working directory. */
export const isSetting = (name: string, value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && /^\d+\w?$/.test(value))
    ? numeric.test(name)
    : typeof value === 'string' && folder.test(name)

// The patterns limit the length of a match, because a tool's input may contain megabytes without a space.
const settings = [
  /(?<![^\s;&|(])(?:cd|pushd|git -C)\s{1,3}(?:"[^"\n]{1,400}"|'[^'\n]{1,400}'|[^\s;&|)]{1,400})/g,
  /(?<![^\s;&|(])(?:timeout|sleep|head|tail)(?:\s{1,3}-[a-z]{1,9})?[\s-]{1,3}\d[\d.]{0,20}\w?/g,
  /--[a-z-]{0,40}(?:timeout|limit|max|delay|retries|lines|offset)[a-z-]{0,40}[\s=]\d[\d.]{0,20}/g,
  /timeout["']?\s{0,3}[:=]\s{0,3}\d[\d._]{0,20}/gi,
]

/** Removes the settings from a shell command or other text in a tool's input. */
export const withoutSettings = (text: string): string =>
  settings.reduce((left, pattern) => left.replaceAll(pattern, ' '), text)
