/** Names that Windows keeps for devices, whatever comes after a dot. */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)(?:\.|$)/i

/**
 * The name of a file with a conversation that every system takes: without a colon, which ids may have; of no device of Windows; neither hidden
 * nor an option of a command, as names that begin with a dot or a dash are.
 */
export const fileNameOf = (id: string, extension: string): string => {
  const name = `${id.replaceAll(':', '-')}.${extension}`
  return /^[.-]/.test(name) || device.test(name) ? `_${name}` : name
}
