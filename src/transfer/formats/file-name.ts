/** Names that Windows reserves for devices, with or without an extension. */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)(?:\.|$)/i

/**
 * Returns a file name for a conversation that is valid on every system. Colons, which ids may contain, become dashes. A name that is a
 * Windows device, or that begins with a dot (a hidden file) or a dash (a command-line option), is prefixed with `_`.
 */
export const fileNameOf = (id: string, extension: string): string => {
  const name = `${id.replaceAll(':', '-')}.${extension}`
  return /^[.-]/.test(name) || device.test(name) ? `_${name}` : name
}
