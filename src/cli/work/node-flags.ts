/**
 * Node flags for a worker's process. By default, V8 lets the space for new objects grow to 128 MiB while a large store is read for the
 * first time, and keeps it. The limit costs no time. The flags of the command itself come later and so override these.
 */
export const nodeFlags: readonly string[] = ['--max-semi-space-size=16']
