import type { ModelRequest } from '../model.ts'

/** Returns the fields of a request body, in the order in which they are sent. */
export const bodyOf = ({ parameters, ...request }: ModelRequest): Record<string, unknown> => ({
  ...parameters,
  ...request,
})

/** Returns the body of a streaming call, as the SDK sends it. Beta features are sent in a header instead. */
export const callBody = (request: ModelRequest): Record<string, unknown> => ({
  ...bodyOf(request),
  stream: true,
})
