/** A schema of any library that follows https://standardschema.dev, such as zod, Valibot or ArkType. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** Problem that a schema found in a value. */
export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Output type of a schema for valid input. */
export type OutputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output']

/** A schema that can convert itself to JSON Schema: https://standardschema.dev/json-schema. */
export interface StandardJsonSchema {
  readonly '~standard': {
    readonly jsonSchema: { readonly input: (options: { readonly target: string }) => unknown }
  }
}

/** Reports whether a value is a Standard Schema. Functions are accepted, because they are schemas in some libraries. */
export const isStandardSchema = (value: unknown): value is StandardSchema =>
  isHolder(value) && isHolder(value['~standard']) && typeof value['~standard']['validate'] === 'function'

export const hasJsonSchema = (schema: object): schema is StandardJsonSchema =>
  isHolder(schema) && isHolder(schema['~standard']) && isHolder(schema['~standard']['jsonSchema'])

const isHolder = (value: unknown): value is { readonly [field: string]: unknown } =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'
