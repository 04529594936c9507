/** Number of characters of a string fetched and shown before the user expands it. */
export const clip = 700
/** Number of items per request. */
export const page = 1_000
