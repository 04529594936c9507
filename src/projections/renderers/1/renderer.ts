// Renderer 1, frozen when renderer 2 was introduced (ADR 11). Its code is never changed: receipts of requests made with it are checked
// by rendering again with it.

export { render } from './render.ts'
