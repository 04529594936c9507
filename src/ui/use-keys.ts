import { useEffect, useRef } from 'preact/hooks'
import { type Action, actions, isCharacter, meaningOf, nameOf } from './keys.ts'
import { setting } from './settings.ts'

export type Handlers = { readonly [A in Action]?: (() => void) | undefined }
/** Layer whose handlers receive keys. While a sheet is open, the page's handlers are inactive, because the sheet is modal. */
type Floor = 'page' | 'sheet'

/** Handlers of the mounted components, oldest first. For each action, the newest handler has priority. */
const layers: { readonly floor: Floor; readonly handlers: { readonly current: Handlers } }[] = []

const handlerOf = (action: Action, floor: Floor): (() => void) | undefined =>
  layers.findLast((layer) => layer.floor === floor && layer.handlers.current[action])?.handlers.current[
    action
  ]

/** Returns the actions that are possible on the current page, in the order of the key table. */
export const possible = (): readonly Action[] =>
  actions.filter((action) => handlerOf(action, 'page') !== undefined)

/** Performs an action on the page as if the user had pressed its key. */
export const perform = (action: Action): void => handlerOf(action, 'page')?.()

/** Registers handlers for actions while the component is mounted. An action without a handler is disabled. */
export const useActions = (handlers: Handlers, floor: Floor = 'page'): void => {
  const given = useRef<Handlers>(handlers)
  given.current = handlers
  useEffect(() => {
    const layer = { floor, handlers: given }
    layers.push(layer)
    return () => void layers.splice(layers.indexOf(layer), 1)
  }, [])
}

/** Keys that native controls handle themselves, by input type or tag name. */
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

/** Characters typed while a sheet is loading; undefined at other times. */
let held: string[] | undefined

/**
 * Withholds typed characters from the page while a sheet is loading. The returned function ends this and types the characters into the
 * open sheet.
 */
export const holdKeys = (): (() => void) => {
  const own: string[] = []
  held = own
  return () => {
    if (held === own) held = undefined
    // Inserted as if typed now, because no other way also works for number fields.
    if (own.length > 0 && document.activeElement?.closest('dialog[open]'))
      document.execCommand('insertText', false, own.join(''))
  }
}

/** Maximum delay between the two keys of a sequence, in milliseconds. */
const patience = 1_500

/** Registers the handler for all keys of the page. Must be called once. */
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
