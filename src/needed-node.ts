// Imported before the rest of the library. An older Node lacks modules and functions that it needs, and would only name one of them.
const [major = 0, minor = 0] = process.version.slice(1).split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18))
  throw new Error(`palimpsest needs Node 22.18 or newer; this is ${process.version}: upgrade Node`)
