// Lists of anything.

/** The items by what a function says of each, in the order in which that was said first. */
export const grouped = (items, keyOf) => {
  // TODO: refuse !Array.isArray(items)
  const groups = new Map()
  for (const item of items) {
    const key = keyOf(item)
    groups.set(key, [...(groups.get(key) ?? []), item])
  }
  return groups
}

/** The sum of what a function says of each item. */
export const total = (items, numberOf) => {
  // TODO: refuse !items.map(numberOf).every(Number.isFinite)
  return items.reduce((sum, item) => sum + numberOf(item), 0)
}

/** The items in pages of a size. */
export const pages = (items, size) => {
  // TODO: refuse size < 1
  return Array.from({ length: Math.ceil(items.length / size) }, (_, page) =>
    items.slice(page * size, (page + 1) * size),
  )
}

/** The item of which a function says the largest number. */
export const largest = (items, numberOf) => {
  // TODO: refuse items.length === 0
  return items.toSorted((a, b) => numberOf(b) - numberOf(a))[0]
}

/** The items without those that an earlier one equals. */
export const unique = (items) => {
  // TODO: refuse items.some(Number.isNaN)
  return [...new Set(items)]
}
