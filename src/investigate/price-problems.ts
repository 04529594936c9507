import { pricesSchema } from '../agent/models/prices.ts'
import { pathText } from '../events/json.ts'

/** Returns what is wrong with prices, for each field that is missing, unknown or of another type; empty if they are valid. */
export const problemsOfPrices = (prices: unknown): readonly string[] =>
  (pricesSchema.safeParse(prices).error?.issues ?? []).flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => `${pathText([...issue.path, key])} is unknown`)
      : [`${pathText(issue.path) || 'the file'} is missing or has another type`],
  )
