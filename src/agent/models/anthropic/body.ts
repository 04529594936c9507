import type { ModelRequest } from '../model.ts'

/** Returns a request as fields of a body, in the order in which they are sent. */
export const bodyOf = ({ parameters, ...request }: ModelRequest): Record<string, unknown> => ({
  ...parameters,
  ...request,
})

/** Returns the body of a call as the SDK sends it; beta features are in a header. */
export const callBody = (request: ModelRequest): Record<string, unknown> => ({
  ...bodyOf(request),
  stream: true,
})
