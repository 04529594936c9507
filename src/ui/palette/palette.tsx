import { useEffect, useRef, useState } from 'preact/hooks'
import { keymap, formatKey, type Topic } from '../keys.ts'
import { go, here } from '../router.ts'
import { closeSheet, Sheet } from '../sheet.tsx'
import { hrefs, matchPath, queryOf } from '../url.ts'
import { perform, possible } from '../use-keys.ts'
import { number } from '../words.ts'
import { type PaletteCommand, matchCommands, type PaletteTarget, placeIn } from './match.ts'

interface Choice extends PaletteCommand {
  readonly choose: () => void
}

/** Returns the id of the conversation shown on the page; undefined on other pages. */
const shownId = (): string | undefined => {
  const [, first, id = ''] = here().path.split('/')
  return first === 'c' && id !== '' ? matchPath('/:id', `/${id}`)?.['id'] : undefined
}

/** Order of the topics. Moves come last, because they are made with keys. */
const order: readonly Topic[] = ['Find', 'Look', 'Act', 'Page', 'Move']

const actions = (): readonly Choice[] =>
  possible()
    .filter((action) => action !== 'palette')
    .toSorted((one, other) => order.indexOf(keymap[one].topic) - order.indexOf(keymap[other].topic))
    .map((action) => {
      const { does, keys, topic } = keymap[action]
      const [key = ''] = keys
      return { name: does, key: formatKey(key), topic, choose: () => perform(action) }
    })

/**
 * Returns an entry that goes to the target named by the typed text. Targets other than conversations require that the page shows a
 * conversation.
 */
const placeOf = (place: PaletteTarget | undefined, id: string | undefined): readonly Choice[] => {
  if (!place) return []
  const to = (name: string, href: string): readonly Choice[] => [
    { name, topic: 'Go to', choose: () => go(href) },
  ]
  if (place.kind === 'conversation') return to(`conversation ${place.id}`, hrefs.conversation(place.id))
  if (id === undefined) return []
  switch (place.kind) {
    case 'position':
      return to(`position ${number(place.position)}`, hrefs.conversation(id, { at: place.position }))
    case 'call':
      return to(`the request of call ${number(place.number)}`, hrefs.call(id, place.number))
    case 'diff':
      return to(`what changed from ${place.from} to ${place.to}`, hrefs.diff(id, place.from, place.to))
  }
}

const searchFor = (typed: string): readonly Choice[] =>
  typed.trim() === ''
    ? []
    : [
        {
          name: `search all conversations for “${typed.trim()}”`,
          topic: 'Find',
          choose: () => go(`${hrefs.list}${queryOf({ q: typed.trim() })}`),
        },
      ]

/** Maximum number of entries shown for a typed text. */
const most = 14

/** Shows a palette of all actions that are possible on the page, and of targets named by number or id. */
export const Palette = () => {
  const [all] = useState(actions)
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const list = useRef<HTMLUListElement>(null)
  const hint = `an action, ${shownId() === undefined ? 'words to find' : 'a position, call 61, diff 120 149'}, @id`
  const found = [...placeOf(placeIn(typed), shownId()), ...matchCommands(all, typed), ...searchFor(typed)]
  const shown = found.slice(0, typed === '' ? found.length : most)
  const choose = (choice: Choice | undefined): void => {
    if (!choice) return
    closeSheet()
    // Deferred, because the action may open another sheet after this one has closed.
    setTimeout(choice.choose)
  }
  const move = (by: number): void => {
    if (shown.length > 0) setChosen((chosen + by + shown.length) % shown.length)
  }
  useEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' }), [chosen])
  const pressed = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key]
    if (by !== undefined) move(by)
    else if (event.key === 'Enter') choose(shown[chosen])
    else return
    event.preventDefault()
  }
  return (
    <Sheet title="Do anything" class="palette">
      <input
        type="text"
        role="combobox"
        aria-label={`A${hint.slice(1)}`}
        placeholder={hint}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={shown.length > 0 ? `palette-${chosen}` : undefined}
        autocomplete="off"
        autofocus
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={pressed}
      />
      <ul id="palette-list" role="listbox" aria-label="Actions" ref={list}>
        {shown.map((choice, index) => (
          <li
            key={choice.name}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseMove={() => setChosen(index)}
            onClick={() => choose(choice)}
          >
            <span class="topic faint">{choice.topic}</span>
            <span>{choice.name}</span>
            {choice.key !== undefined && <kbd>{choice.key}</kbd>}
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p class="faint">No matching action.</p>}
    </Sheet>
  )
}
