import * as fc from 'fast-check'

// Values that a JSON Schema of the API's document allows.

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly not?: object
  readonly format?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly propertyNames?: Schema
  readonly items?: Schema
  readonly prefixItems?: readonly Schema[]
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly examples?: readonly unknown[]
}

const json = fc.jsonValue({ maxDepth: 2 })

/**
 * Makes values of a schema.
 *
 * @param schemas the document's `components.schemas`
 */
export const valuesOf = (
  schemas: Readonly<Record<string, Schema>>,
): ((schema: Schema) => fc.Arbitrary<unknown>) => {
  const known = new Map<string, fc.Arbitrary<unknown>>()
  const referred = (name: string): fc.Arbitrary<unknown> => {
    const found = known.get(name)
    if (found) return found
    // A schema may refer to itself.
    const { it } = fc.letrec<{ it: unknown }>((tie) => {
      known.set(name, tie('it'))
      return { it: of(schemas[name] as Schema) }
    })
    known.set(name, it)
    return it
  }
  const of = (schema: Schema): fc.Arbitrary<unknown> => {
    if (schema.examples) return fc.constantFrom(...schema.examples)
    if (schema.$ref !== undefined) return referred(schema.$ref.split('/').at(-1) as string)
    if ('const' in schema) return fc.constant(schema.const)
    if (typeof schema.type === 'object')
      return fc.oneof(...schema.type.map((type) => of({ ...schema, type })))
    if (schema.enum) return fc.constantFrom(...schema.enum)
    const either = schema.anyOf ?? schema.oneOf
    if (either) return fc.oneof({ depthSize: 'small', withCrossShrink: true }, ...either.map(of))
    if (schema.allOf)
      return fc
        .tuple(...schema.allOf.map(of))
        .map((all) => Object.assign({}, ...(all as object[])) as unknown)
    const type = schema.type ?? ''
    switch (type) {
      case 'null':
        return fc.constant(null)
      case 'boolean':
        return fc.boolean()
      case 'integer': {
        const min = schema.minimum ?? (schema.exclusiveMinimum ?? -10) + 1
        const max = schema.maximum ?? Number.MAX_SAFE_INTEGER
        return fc.oneof(
          { weight: 4, arbitrary: fc.integer({ min, max: Math.min(max, min + 5) }) },
          fc.maxSafeInteger().map((n) => Math.min(max, Math.max(min, n))),
        )
      }
      case 'number':
        return fc.double({
          min: schema.minimum ?? schema.exclusiveMinimum ?? -1e9,
          minExcluded: schema.minimum === undefined,
          max: schema.maximum ?? schema.exclusiveMaximum ?? 1e9,
          maxExcluded: schema.maximum === undefined,
          noNaN: true,
        })
      case 'string': {
        const { minLength = 0, maxLength = Infinity, pattern = '' } = schema
        const matches = new RegExp(pattern, 'u')
        // Looking ahead is for the check alone.
        const plain = pattern.replaceAll(/\(\?[=!][^()]*\)/g, '')
        return fc
          .oneof(
            plain === ''
              ? fc.string({
                  unit: 'grapheme',
                  minLength,
                  maxLength: Math.max(minLength, Math.min(maxLength, 30)),
                })
              : fc.stringMatching(new RegExp(plain, 'u')),
          )
          .filter((text) => text.length >= minLength && text.length <= maxLength && matches.test(text))
      }
      case 'array':
        return schema.prefixItems
          ? fc.tuple(...schema.prefixItems.map(of))
          : fc.array(schema.items ? of(schema.items) : json, {
              minLength: schema.minItems ?? 0,
              maxLength: Math.max(schema.minItems ?? 0, Math.min(schema.maxItems ?? 3, 3)),
            })
      case 'object': {
        const { properties = {}, required = [], additionalProperties: more } = schema
        const named = fc.record(
          Object.fromEntries(
            Object.entries(properties).flatMap(([name, one]) => (one.not ? [] : [[name, of(one)]])),
          ),
          { requiredKeys: [...required] },
        )
        if (more === undefined || more === false) return named
        const names = schema.propertyNames
          ? (of(schema.propertyNames) as fc.Arbitrary<string>)
          : fc.string({ maxLength: 8 })
        const others = fc.dictionary(
          names.filter((name) => !(name in properties)),
          more === true ? json : of(more),
          { maxKeys: 2 },
        )
        return fc.tuple(others, named).map(([other, own]) => Object.assign(other, own) as unknown)
      }
      default:
        return json
    }
  }
  return of
}
