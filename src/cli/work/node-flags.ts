/**
 * Node flags for the process of a worker. By default, V8 lets the space for new objects grow to 128 MiB while a large store is read for
 * the first time, and keeps that size. The limit does not slow the worker down. Flags given to the command itself come later and
 * override these.
 */
export const nodeFlags: readonly string[] = ['--max-semi-space-size=16']
