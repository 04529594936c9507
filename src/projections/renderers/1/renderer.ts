// Renderer 1, as it was when renderer 2 began (ADR 11). Never edited: receipts of what was sent with it are checked with it.

export { render } from './render.ts'
