/** Names that Windows reserves for devices, with or without an extension. */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)(?:\.|$)/i

/**
 * Returns a file name for a conversation that is valid on every system: without a colon, which ids may contain; not a Windows device;
 * neither hidden nor a command-line option, as names that begin with a dot or a dash are.
 */
export const fileNameOf = (id: string, extension: string): string => {
  const name = `${id.replaceAll(':', '-')}.${extension}`
  return /^[.-]/.test(name) || device.test(name) ? `_${name}` : name
}
