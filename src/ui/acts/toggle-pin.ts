/** Adds a pin at a position, or removes the existing one. Pins stay sorted by position. */
export const togglePin = (
  pins: readonly number[],
  position: number,
): { readonly pins: readonly number[]; readonly isPinned: boolean } => {
  const isPinned = !pins.includes(position)
  const others = pins.filter((pin) => pin !== position)
  return { pins: isPinned ? [...others, position].toSorted((one, other) => one - other) : others, isPinned }
}
