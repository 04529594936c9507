import { type ComponentChildren, render } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Places in the head of the page into which the page below it may put something of its own. */
export type HeaderPlace = 'live' | 'acts' | 'tabs'

const slotOf = (place: HeaderPlace): Element | null => document.querySelector(`#header-${place}`)

/** Shows its children in the head of the page, which stays while the pages below it change. */
export const InHeader = ({
  place,
  children,
}: {
  readonly place: HeaderPlace
  readonly children: ComponentChildren
}) => {
  useLayoutEffect(() => {
    const slot = slotOf(place)
    if (slot) render(<>{children}</>, slot)
  })
  useLayoutEffect(
    () => () => {
      const slot = slotOf(place)
      if (slot) render(null, slot)
    },
    [place],
  )
  return null
}

/** Place for what the page below puts into the head of the page. */
export const HeaderSlot = ({ place }: { readonly place: HeaderPlace }) => (
  <div id={`header-${place}`} class={`header-slot in-${place}`} />
)
