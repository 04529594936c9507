import { announce } from '../announcer.tsx'
import { closeSheet, openSheet, Sheet } from '../sheet.tsx'
import { hrefs } from '../url.ts'
import { useActions } from '../use-keys.ts'
import { count, number } from '../words.ts'
import { togglePin } from './toggle-pin.ts'

// Positions that the user wants to return to. They are stored until the tab is closed, and contain no content of the conversation.

const nameOf = (id: string): string => `palimpsest.pins.${id}`

const pinsOf = (id: string): readonly number[] => {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(nameOf(id)) ?? '[]')
    return Array.isArray(kept) ? kept.filter((pin): pin is number => Number.isSafeInteger(pin)) : []
  } catch {
    // The browser does not allow storage, or the stored text is not JSON.
    return []
  }
}

/** Registers the keys that pin the current position and list the pins. */
export const usePins = (id: string, at: number | undefined): void => {
  const pin = (): void => {
    if (at === undefined) return
    const { pins, isPinned } = togglePin(pinsOf(id), at)
    try {
      sessionStorage.setItem(nameOf(id), JSON.stringify(pins))
    } catch {
      announce('This browser cannot store pins.')
      return
    }
    announce(
      `${isPinned ? 'Pinned' : 'No longer pinned:'} ${number(at)}. ${count(pins.length, 'pin')} (press ' to list them)`,
    )
  }
  useActions({ pin: at === undefined ? undefined : pin, pins: () => openSheet(<PinsSheet id={id} />) })
}

const PinsSheet = ({ id }: { readonly id: string }) => {
  const pins = pinsOf(id)
  return (
    <Sheet title="Pins">
      {pins.length === 0 && (
        <p class="faint">
          None yet: <kbd>m</kbd> pins or unpins the current position.
        </p>
      )}
      <ul class="pins">
        {pins.map((pin) => (
          <li key={pin}>
            <a href={hrefs.conversation(id, { at: pin })} onClick={closeSheet}>
              position {number(pin)}
            </a>
          </li>
        ))}
      </ul>
    </Sheet>
  )
}
