/** An event in its stored form: the JSON texts are exactly the bytes that were written. */
export interface StoredEvent {
  readonly id: string
  readonly type: string
  readonly data: string
  readonly metadata: string
}
