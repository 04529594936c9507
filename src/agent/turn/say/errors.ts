/** The conversation awaits the model, or results of its calls. Nothing was written. */
export interface Busy {
  readonly _tag: 'Busy'
  readonly message: string
  readonly conversation: string
}

export const busy = (conversation: string): Busy => ({
  _tag: 'Busy',
  message: `${conversation} is waiting for the model or for tool results: try again later, or set whileBusy to 'enqueue', 'interrupt' or 'rollback'`,
  conversation,
})
