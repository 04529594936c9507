/**
 * For the Node of a worker's process. By itself, V8 lets the space for new objects grow to 128 MiB while a large store is read for the first
 * time, and keeps it. This costs no time. What the command itself was started with comes later, and so counts.
 */
export const nodeFlags: readonly string[] = ['--max-semi-space-size=16']
