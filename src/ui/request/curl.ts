import { secretsIn } from './parts.ts'

// Requests as shell commands.

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export interface CurlRequest {
  /** Request body as JSON on one line. */
  readonly body: string
  readonly isChat: boolean
  readonly betas?: readonly string[] | undefined
}

/**
 * Returns a curl command that repeats the request with an API key from an environment variable. The body, which may be long, is passed
 * on standard input.
 */
export const curlOf = ({ body, isChat, betas = [] }: CurlRequest): string => {
  const [url, key] = isChat
    ? ['https://api.openai.com/v1/chat/completions', '"Authorization: Bearer $OPENAI_API_KEY"']
    : ['https://api.anthropic.com/v1/messages', '"x-api-key: $ANTHROPIC_API_KEY"']
  const headers = [
    key,
    ...(isChat ? [] : [quoted('anthropic-version: 2023-06-01')]),
    ...(betas.length > 0 ? [quoted(`anthropic-beta: ${betas.join(',')}`)] : []),
    quoted('content-type: application/json'),
  ]
  const secrets = secretsIn(JSON.parse(body))
  const notes = secrets.map(
    (place) => `# put the secret in the place of {"$secret":${JSON.stringify(place)}}\n`,
  )
  const lines = [
    `curl -fsS ${url}`,
    ...headers.map((header) => `  -H ${header}`),
    `  --data-binary @- <<'END'`,
  ]
  return `${notes.join('')}${lines.join(' \\\n')}\n${body}\nEND\n`
}
