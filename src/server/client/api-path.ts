import { emptyParameter } from './errors.ts'
import type { ParamsOf, QueryOf } from './api.ts'

declare const route: unique symbol
/** A path below `/api/v1` with its query; to the compiler it has its route, which says what is asked and answered there. */
export type ApiPath<T extends string = string> = string & { readonly [route]: T }

/** Fills the parameters of a path in, and adds a query of all that is not undefined. Throws `InvalidInput` for an empty parameter, as the path would name something else. */
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

/** Gives a route with its parameters and query, as it is asked for. Throws as `filledPath`. */
export const apiPathOf = <T extends string>(
  path: T,
  params?: ParamsOf<NoInfer<T>>,
  query?: QueryOf<NoInfer<T>>,
): ApiPath<T> => fillPath(path, params, query) as ApiPath<T>
