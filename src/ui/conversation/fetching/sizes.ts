/** Number of characters of a string shown before it is opened. */
export const clip = 700
/** Number of items fetched at once. */
export const page = 1_000
