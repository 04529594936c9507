/** Another worker or program is running a turn of the conversation, and `whileHeld` is `fail`. Nothing was written. */
export interface TurnHeld {
  readonly _tag: 'TurnHeld'
  readonly message: string
  readonly conversation: string
  /** Name under which the log records the worker or program. */
  readonly holder: string
}

export const turnHeld = (conversation: string, holder: string): TurnHeld => ({
  _tag: 'TurnHeld',
  message: `${holder} is running a turn of ${conversation}: call turn later, or with whileHeld wait or take`,
  conversation,
  holder,
})
