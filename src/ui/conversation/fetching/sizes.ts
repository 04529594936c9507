/** What is shown of a string before it is opened, in characters. */
export const clip = 700
/** How many items are fetched at once. */
export const page = 1_000
