import { z } from 'zod'
import { statusesOf, type Tag, titleOf } from './problem.ts'
import type { Route } from './route.ts'
import { problemShape } from './shapes/problem.ts'

// OpenAPI 3.1, made of the schemas that check what comes in. Its schemas are JSON Schema 2020-12, which zod writes.

type Json = { readonly [field: string]: unknown }
interface Wrapped {
  readonly $defs?: Json
  readonly properties: { readonly schema: Json }
}

/** Tags of errors that any request may cause. */
const anyRequest: readonly Tag[] = [
  'InvalidRequest',
  'InvalidInput',
  'HostRefused',
  'StoreUnavailable',
  'StoreBusy',
  'Internal',
]
const withToken: readonly Tag[] = ['Unauthorized', 'Forbidden']
const withBody: readonly Tag[] = ['OriginRefused', 'BodyTooLarge', 'UnsupportedMediaType', 'ReadOnly']

export const openApi = (routes: readonly Route[], base: string): Json => {
  const schemas: Record<string, unknown> = {}

  /**
   * Converts a schema to JSON Schema. The schema is wrapped in an object, so that a named schema becomes a reference even at the top
   * level.
   */
  const jsonSchema = (schema: z.ZodType, io: 'input' | 'output'): Json => {
    const wrapped = z.toJSONSchema(z.object({ schema }), { io, unrepresentable: 'any' })
    const text = JSON.stringify(wrapped).replaceAll('"#/$defs/', '"#/components/schemas/')
    const { $defs, properties } = JSON.parse(text) as Wrapped
    Object.assign(schemas, $defs)
    return properties.schema
  }

  const parameters = ({ params, query }: Route): readonly Json[] =>
    (['path', 'query'] as const).flatMap((place) => {
      const fields = (place === 'path' ? params : query)?.shape ?? {}
      return Object.entries(fields).map(([name, schema]) => {
        const { description, ...its } = jsonSchema(schema as z.ZodType, 'output')
        const isRequired = place === 'path' || !(schema as z.ZodType).safeParse(undefined).success
        return {
          name,
          in: place,
          required: isRequired,
          ...(description !== undefined && { description }),
          schema: its,
        }
      })
    })

  const json = (schema: Json): Json => ({ 'application/json': { schema } })
  const problem = { 'application/problem+json': { schema: jsonSchema(problemShape, 'output') } }

  const operation = (route: Route): Json => {
    const { name, summary, scope, body, answers, media = [], isRanged, repeats, errors = [], method } = route
    const reused: readonly Tag[] = repeats ? ['CommandReused'] : []
    const refusals = [
      ...anyRequest,
      ...withToken,
      ...(method === 'post' ? withBody : []),
      ...reused,
      ...errors,
    ]
    const stream = Object.fromEntries(
      media.map((type) => [type, { schema: type === 'application/json' ? {} : { type: 'string' } }]),
    )
    const given = Object.entries(answers).map(([status, schema]) => [
      status,
      { description: 'done', content: { ...json(jsonSchema(schema, 'output')), ...stream } },
    ])
    const all =
      given.length > 0 ? given : [['200', { description: isRanged ? 'whole' : 'a stream', content: stream }]]
    return {
      operationId: name,
      summary,
      security: [{ token: [scope] }, { session: [] }],
      parameters: [...parameters(route), ...(repeats ? [idempotencyKey] : [])],
      ...(body && { requestBody: { required: true, content: json(jsonSchema(body, 'input')) } }),
      responses: {
        ...Object.fromEntries(all),
        ...(isRanged && { 206: { description: 'The requested range', content: stream } }),
        ...(method === 'get' && {
          304: { description: 'Not modified: the ETag is the one in If-None-Match' },
        }),
        ...Object.fromEntries(
          statusesOf(refusals).map((status) => [
            status,
            { description: tagsOf(refusals, status), content: problem },
          ]),
        ),
      },
    }
  }

  const paths: Record<string, Record<string, Json>> = {}
  for (const route of routes) (paths[`${base}${route.path}`] ??= {})[route.method] = operation(route)
  return {
    openapi: '3.1.1',
    info: {
      title: 'Palimpsest',
      version: '1',
      description: 'An event-sourced conversation store for LLM agents',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: 'palimpsest' },
      },
    },
  }
}

const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Key that makes the request idempotent: a repetition changes nothing',
  schema: { type: 'string' },
}

const tagsOf = (tags: readonly Tag[], status: number): string =>
  tags
    .filter((tag) => statusesOf([tag])[0] === status)
    .map(titleOf)
    .join(', or ')
