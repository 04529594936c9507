// The types of what is stored, and of settings, are written by hand, so that they have names. The compiler compares them here with what the schemas
// check, to the field, its `?` and its `readonly`. Nothing of it runs.
import type { z } from 'zod'
import type { commandSchemas } from '../../src/commands/command.ts'
import type { Command, CommandType } from '../../src/commands/command-types.ts'
import type { ContextSettings, settingsSchema } from '../../src/agent/context/policy/settings.ts'
import type {
  settingsSchema as summarySchema,
  SummarizerSettings,
} from '../../src/agent/context/summary/settings.ts'
import type { EventData, EventType, Metadata } from '../../src/events/event-types.ts'
import type { dataSchemas, DeepReadonly, metadataSchema } from '../../src/events/events.ts'
import type { NewMessage, newMessage } from '../../src/events/new-message.ts'

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- only functions of a type are compared for identity
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Checked<S extends z.ZodType> = DeepReadonly<z.infer<S>>
type Schemas = typeof dataSchemas

export const types: true = true satisfies Same<EventType, keyof Schemas>
export const commandTypes: true = true satisfies Same<CommandType, keyof typeof commandSchemas>
export const data: { readonly [T in EventType]: true } = {
  MessageAppended: true satisfies Same<EventData['MessageAppended'], Checked<Schemas['MessageAppended']>>,
  Condensed: true satisfies Same<EventData['Condensed'], Checked<Schemas['Condensed']>>,
  Truncated: true satisfies Same<EventData['Truncated'], Checked<Schemas['Truncated']>>,
  Restored: true satisfies Same<EventData['Restored'], Checked<Schemas['Restored']>>,
  Rewound: true satisfies Same<EventData['Rewound'], Checked<Schemas['Rewound']>>,
  Configured: true satisfies Same<EventData['Configured'], Checked<Schemas['Configured']>>,
  Forked: true satisfies Same<EventData['Forked'], Checked<Schemas['Forked']>>,
  Erased: true satisfies Same<EventData['Erased'], Checked<Schemas['Erased']>>,
}
export const metadata: true = true satisfies Same<Metadata, Checked<typeof metadataSchema>>
export const message: true = true satisfies Same<NewMessage, Checked<typeof newMessage>>
type Input<T extends CommandType> = Checked<(typeof commandSchemas)[T]>
export const commands: { readonly [T in CommandType]: true } = {
  append: true satisfies Same<Omit<Command<'append'>, 'type'>, Input<'append'>>,
  configure: true satisfies Same<Omit<Command<'configure'>, 'type'>, Input<'configure'>>,
  condense: true satisfies Same<Omit<Command<'condense'>, 'type'>, Input<'condense'>>,
  truncate: true satisfies Same<Omit<Command<'truncate'>, 'type'>, Input<'truncate'>>,
  restore: true satisfies Same<Omit<Command<'restore'>, 'type'>, Input<'restore'>>,
  rewind: true satisfies Same<Omit<Command<'rewind'>, 'type'>, Input<'rewind'>>,
  undo: true satisfies Same<Omit<Command<'undo'>, 'type'>, Input<'undo'>>,
  fork: true satisfies Same<Omit<Command<'fork'>, 'type'>, Input<'fork'>>,
}
export const settings: readonly true[] = [
  true satisfies Same<ContextSettings, Checked<typeof settingsSchema>>,
  true satisfies Same<SummarizerSettings, Readonly<z.infer<typeof summarySchema>>>,
]
// The comparison itself: a field that is missing, optional or writable is another type.
export const differ: readonly false[] = [
  false satisfies Same<{ readonly a?: 1 }, { readonly b?: 1 }>,
  false satisfies Same<{ readonly a?: 1 | undefined }, { readonly a: 1 | undefined }>,
  false satisfies Same<{ readonly a: 1 }, { a: 1 }>,
]
