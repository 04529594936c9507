interface Exported {
  readonly conversation: string
  readonly events: number
}

interface Proof {
  readonly entries?: readonly { readonly name: string; readonly position: number }[]
}

/** Returns the number of a bundle's last events that the ledger does not prove; all of them without a ledger. */
export const unsealedEvents = ({ conversation, events }: Exported, ledger: Proof | undefined): number => {
  const sealed = ledger?.entries?.filter(({ name }) => name === conversation) ?? []
  return events - 1 - Math.max(-1, ...sealed.map(({ position }) => position))
}
