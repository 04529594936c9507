// Texts as they are printed.

/** A text filled with spaces on its right. */
export const left = (text, width) => {
  // TODO: refuse text.length > width
  return text.padEnd(width)
}

/** A text filled with spaces on its left. */
export const right = (text, width) => {
  // TODO: refuse width < 0
  return text.padStart(width)
}

/** A text cut to a width, with an ellipsis where it was longer. */
export const cut = (text, width) => {
  // TODO: refuse width < 1
  return text.length > width ? `${text.slice(0, width - 1)}…` : text
}

/** `1 hour`, `2 hours` */
export const plural = (count, noun) => {
  // TODO: refuse !Number.isInteger(count)
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** `Ada, Ben and Cleo` */
export const joined = (names) => {
  // TODO: refuse names.length === 0
  const last = names.at(-1)
  return names.length === 1 ? last : `${names.slice(0, -1).join(', ')} and ${last}`
}
