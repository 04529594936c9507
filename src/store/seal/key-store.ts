/**
 * Place that holds the keys of sealed conversations, apart from the store. Implement it to keep keys in a service of your own: encrypt
 * each text with a key of a KMS before you store it. Methods may throw any error; it is reported as `StoreUnavailable`.
 */
export interface KeyStore {
  /** Name for messages, without credentials. */
  readonly name: string
  /** Returns the text stored under an id, or undefined. An id has 1 to 200 characters of `A–Z a–z 0–9 . _ : -`. */
  readonly read: (id: string) => Promise<string | undefined>
  /**
   * Stores a text under an id if `before` is the text stored there, and returns true; otherwise changes nothing and returns false. A
   * stored text survives a power cut. Nobody can read a replaced text again: not in a log, and not in a former version of a file. If
   * that fails after the text was stored, `write` throws, and `scrub` does the rest.
   *
   * @param before undefined if nothing must be stored under the id
   */
  readonly write: (id: string, text: string, before: string | undefined) => Promise<boolean>
  /** Removes what is left of replaced texts, in case a `write` has failed or was interrupted. For places where that can happen. */
  readonly scrub?: () => Promise<void>
  readonly close: () => Promise<void>
}
