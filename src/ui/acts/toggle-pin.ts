/** Adds a pin, or removes it if it exists, in the order of the conversation. */
export const togglePin = (
  pins: readonly number[],
  position: number,
): { readonly pins: readonly number[]; readonly isPinned: boolean } => {
  const isPinned = !pins.includes(position)
  const others = pins.filter((pin) => pin !== position)
  return { pins: isPinned ? [...others, position].toSorted((one, other) => one - other) : others, isPinned }
}
