import { useEffect, useRef } from 'preact/hooks'
import { type Action, actions, isCharacter, meaningOf, nameOf } from './keys.ts'
import { setting } from './settings.ts'

export type Handlers = { readonly [A in Action]?: (() => void) | undefined }
/** A sheet is modal: while one is open, what the page can do is off. */
type Floor = 'page' | 'sheet'

/** Of the components that are shown, the newest last: it wins. */
const layers: { readonly floor: Floor; readonly handlers: { readonly current: Handlers } }[] = []

const handlerOf = (action: Action, floor: Floor): (() => void) | undefined =>
  layers.findLast((layer) => layer.floor === floor && layer.handlers.current[action])?.handlers.current[
    action
  ]

/** What can be done on the page now, in the order of the table. */
export const possible = (): readonly Action[] =>
  actions.filter((action) => handlerOf(action, 'page') !== undefined)

/** Does it as if its key had been pressed. */
export const perform = (action: Action): void => handlerOf(action, 'page')?.()

/** Says what actions do while the component is shown. An action that is undefined is not possible now. */
export const useActions = (handlers: Handlers, floor: Floor = 'page'): void => {
  const given = useRef<Handlers>(handlers)
  given.current = handlers
  useEffect(() => {
    const layer = { floor, handlers: given }
    layers.push(layer)
    return () => void layers.splice(layers.indexOf(layer), 1)
  }, [])
}

/** Keys that a native control takes itself. */
const native: Readonly<Record<string, RegExp>> = {
  range: /^(?:Arrow|Page|Home|End)/,
  checkbox: /^ $/,
  radio: /^(?: |Arrow.*)$/,
  BUTTON: /^(?:Enter| )$/,
  A: /^Enter$/,
  SUMMARY: /^(?:Enter| )$/,
  SELECT: /^(?!Control)/,
}

const isTaken = (name: string, target: EventTarget | null): boolean => {
  if (!(target instanceof HTMLElement)) return false
  const kind = target instanceof HTMLInputElement ? target.type : target.tagName
  const own = native[kind]
  if (own) return own.test(name)
  const isTyping = target instanceof HTMLInputElement || kind === 'TEXTAREA' || target.isContentEditable
  return isTyping && !name.startsWith('Control+')
}

/** What was typed while a sheet was loading. */
let held: string[] | undefined

/** Keeps what is typed from the page, until the function that it returns is called once the sheet is there that it is meant for. */
export const holdKeys = (): (() => void) => {
  const own: string[] = []
  held = own
  return () => {
    if (held === own) held = undefined
    // As if it were typed now: no other way serves fields of numbers as well.
    if (own.length > 0 && document.activeElement?.closest('dialog[open]'))
      document.execCommand('insertText', false, own.join(''))
  }
}

/** How long the second key of a sequence may take, in milliseconds. */
const patience = 1_500

/** Listens for keys, once for the whole page. */
export const listenForKeys = (): void => {
  let began: { readonly name: string; readonly at: number } | undefined
  document.addEventListener('keydown', (event) => {
    const name = nameOf(event)
    if (name === undefined || name === 'Shift') return
    if (held && !name.startsWith('Control+')) {
      if (isCharacter(name)) held.push(name)
      event.preventDefault()
      return
    }
    const before = began && event.timeStamp - began.at < patience ? began.name : undefined
    began = undefined
    if (event.defaultPrevented || event.isComposing || isTaken(name, event.target)) return
    if (isCharacter(name) && setting('single-keys') === 'off') return
    const meaning = meaningOf(name, before)
    if (meaning && 'began' in meaning) began = { name: meaning.began, at: event.timeStamp }
    if (!meaning || 'began' in meaning) return
    const handler = handlerOf(meaning.action, document.querySelector('dialog[open]') ? 'sheet' : 'page')
    if (!handler) return
    event.preventDefault()
    handler()
  })
}
