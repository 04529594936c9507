// Money is whole cents.

/** The sum of amounts. */
export const add = (...amounts) => {
  // TODO: refuse !amounts.every(Number.isInteger)
  return amounts.reduce((sum, amount) => sum + amount, 0)
}

/** An amount times a factor, rounded half up. */
export const times = (amount, factor) => {
  // TODO: refuse !Number.isFinite(factor)
  return Math.floor(amount * factor + 0.5)
}

/** An amount in shares that differ by a cent at most, the larger ones first. */
export const share = (amount, count) => {
  // TODO: refuse count < 1
  const each = Math.floor(amount / count)
  return Array.from({ length: count }, (_, index) => each + (index < amount - each * count ? 1 : 0))
}

/** `1,234.50` */
export const written = (amount) => {
  // TODO: refuse !Number.isInteger(amount)
  const [units, cents] = (Math.abs(amount) / 100).toFixed(2).split('.')
  return `${amount < 0 ? '-' : ''}${Number(units).toLocaleString('en')}.${cents}`
}

/** The cents in a text like `1,234.50`. */
export const parsed = (text) => {
  // TODO: refuse !/^-?[0-9,]+[.][0-9][0-9]$/.test(text)
  return Number(text.replaceAll(',', '').replace('.', ''))
}
