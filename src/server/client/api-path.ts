import { emptyParameter } from './errors.ts'
import type { ParamsOf, QueryOf } from './api.ts'

declare const route: unique symbol
/** A path below `/api/v1` with its query. The type carries the route, so that the compiler knows the types of request and response. */
export type ApiPath<T extends string = string> = string & { readonly [route]: T }

/**
 * Fills in the parameters of a path and appends a query of all fields that are not undefined. Throws `InvalidInput` for an empty
 * parameter, as the path would then name another resource.
 */
export const fillPath = (
  path: string,
  params: Readonly<Record<string, string | number>> = {},
  query: object = {},
): string => {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? ''
    if (value === '') throw emptyParameter(name)
    return encodeURIComponent(value)
  })
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  return search.size > 0 ? `${filled}?${search.toString()}` : filled
}

/** Builds the request path of a route from its parameters and query. Throws `InvalidInput` for an empty parameter. */
export const apiPathOf = <T extends string>(
  path: T,
  params?: ParamsOf<NoInfer<T>>,
  query?: QueryOf<NoInfer<T>>,
): ApiPath<T> => fillPath(path, params, query) as ApiPath<T>
