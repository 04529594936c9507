import { hash } from 'node:crypto'
import type { Configuration } from '../../events/events.ts'
import { type Effective, fieldsOf, type Item, messagesOf } from '../../projections/effective.ts'
import { createListMap, memo } from '../../projections/memo.ts'
import { fingerprintLength } from './fingerprints.ts'

/** Print of content without a salt. A hash would confirm a guess of the content, so there is none. */
const unsalted = '-'.repeat(fingerprintLength)

/** Returns the print of a text: the first 6 characters of the base64url SHA-256 of the salt and the text; `unsalted` without a salt. */
const printOf = (salt: string | null | undefined, text: () => string): string =>
  !salt ? unsalted : hash('sha256', `${salt} ${text()}`, 'base64url').slice(0, fingerprintLength)

const itemPrint = memo((item: Item): string =>
  printOf(item.salt, () =>
    JSON.stringify(
      messagesOf(item).map((message) => {
        const fields = fieldsOf(item, message)
        return [message.role, message.content, ...(fields ? [fields] : [])]
      }),
    ),
  ),
)

const promptPrint = memo(({ system = [], tools = [] }: Configuration, salt): string =>
  printOf(salt, () => JSON.stringify([system, tools])),
)

const printsOfItems = createListMap<Item, string>()

/**
 * Returns the concatenated prints of what a history shows: the system prompt with the tools, the former tools, then each item in order.
 * A receipt records them, so that an audit can name the event that was changed after a call.
 */
export const itemPrintsOf = ({ items, layout }: Effective): string => {
  const { configuration, configuredSalt, formerTools, formerSalt } = layout
  return [
    configuration ? promptPrint(configuration, configuredSalt ?? undefined) : unsalted,
    printOf(formerSalt, () => JSON.stringify(formerTools)),
    ...printsOfItems(items, (item) => itemPrint(item)),
  ].join('')
}

/** Returns the position of the event whose print has this index; undefined if the history shows no such event. */
export const eventOfPrint = ({ items, layout }: Effective, index: number): number | undefined =>
  [layout.configured, layout.toolsFrom, ...items.map(({ position }) => position)][index]
