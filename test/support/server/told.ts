/** A message of an event stream (HTML living standard, section 9.2). */
export interface Message {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: { readonly [field: string]: unknown }
}

const field = (block: string, name: string): string | undefined =>
  block
    .split('\n')
    .find((line) => line.startsWith(`${name}: `))
    ?.slice(name.length + 2)

/** The messages of the answer to a POST, as they come, until it ends or the reader leaves. */
export async function* posted(
  url: string,
  body: unknown,
  { headers = {}, signal }: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal } = {},
): AsyncGenerator<Message, void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  let text = ''
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end)
      text = text.slice(end + 2)
      const data = field(block, 'data')
      if (data === undefined) continue
      yield {
        id: field(block, 'id'),
        event: field(block, 'event'),
        data: JSON.parse(data) as Message['data'],
      }
    }
  }
}
