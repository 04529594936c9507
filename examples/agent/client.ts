import Anthropic from '@anthropic-ai/sdk'

/**
 * A client that notes what the API says to the requests that it refuses as wrong.
 *
 * @param url of the stand-in; undefined for the API, whose key is ANTHROPIC_API_KEY
 */
export const notingClient = (
  url?: string,
): { readonly client: Anthropic; readonly refused: readonly string[] } => {
  const refused: string[] = []
  const client = new Anthropic({
    ...(url !== undefined && { baseURL: url, apiKey: 'none' }),
    fetch: async (...request) => {
      const response = await fetch(...request)
      if (response.status === 400) refused.push(await response.clone().text())
      return response
    },
  })
  return { client, refused }
}
