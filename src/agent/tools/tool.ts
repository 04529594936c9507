import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { check } from '../../events/check.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { orThrow } from '../../result/fallible.ts'
import { checkInput } from './input.ts'
import { inputSchemaOf } from './input-schema.ts'
import { settingsShape, type ToolCall, type ToolContext, type ToolSettings } from './settings.ts'
import { isStandardSchema, type OutputOf, type StandardSchema } from './standard-schema.ts'

/** Tool for the `tools` of a turn: the definition that the model sees, and the function that carries out its calls. */
export interface Tool extends ToolSettings {
  /** Definition in the API's form, recorded verbatim. */
  readonly definition: ToolDefinition
}

export interface ToolDefinition {
  readonly name: string
  readonly [field: string]: unknown
}

/** Options of a tool with a schema, which every input is checked against. The JSON Schema for the model is generated from it. */
export interface ToolOptions<S extends StandardSchema> extends Omit<
  ToolSettings,
  'run' | 'approve' | 'check'
> {
  /** Name of the tool: 1 to 64 of a–z A–Z 0–9 _ -. */
  readonly name: string
  /** Description for the model: the purpose of the tool, and when to use it. */
  readonly description: string
  /** Schema of the input; it must describe an object. */
  readonly input: S
  /** JSON Schema to show to the model instead of the one that the schema's library generates. */
  readonly inputSchema?: object | undefined
  /** Function that carries out a call. It receives the schema's output for a valid input. */
  readonly run: (input: OutputOf<S>, context: ToolContext) => unknown
  /**
   * True, or a function that returns true, to require approval of a call before it runs. The function is called with the schema's
   * output. Default false.
   */
  readonly approve?: boolean | ((call: ToolCall<OutputOf<S>>) => boolean | Promise<boolean>) | undefined
}

/** Pattern of the tool names that the API accepts. */
const toolName = /^[a-zA-Z0-9_-]{1,64}$/

const optionsSchema = z.strictObject({
  ...settingsShape,
  name: z
    .string()
    .regex(toolName, { error: 'must be the name of a tool: 1 to 64 of the characters a–z A–Z 0–9 _ -' }),
  description: z.string().min(1, { error: 'tell the model what the tool does' }),
  input: z.custom(isStandardSchema, {
    error: 'must be a Zod schema, or one of another library that implements https://standardschema.dev',
  }),
  inputSchema: z.record(z.string(), z.unknown()).optional(),
})

/** Applies the schema to the input, unless the turn has already done so. */
const madeInput = async <S extends StandardSchema>(
  schema: S,
  tool: string,
  { input, by }: { readonly input: unknown; readonly by: { readonly checked?: unknown } },
): Promise<E.Either<InvalidInput, OutputOf<S>>> =>
  'checked' in by && by.checked === input ? E.right(input) : checkInput(schema, tool, input)

/**
 * Creates a tool whose input is checked before the tool runs. If the input is invalid, the model receives the problems and may call
 * again.
 *
 * Errors: `InvalidInput`.
 */
export const tool = <S extends StandardSchema>(options: ToolOptions<S>): E.Either<InvalidInput, Tool> => {
  const checked = check(optionsSchema, options)
  if (E.isLeft(checked)) return checked
  const { name, description, input: schema, inputSchema, run, approve = false, ...settings } = options
  return E.map((input_schema) => ({
    ...settings,
    definition: { name, description, input_schema },
    check: (input: unknown) => checkInput(schema, name, input),
    run: async (input: unknown, context: ToolContext) => {
      return run(await orThrow(madeInput(schema, name, { input, by: context })), context)
    },
    ...(approve !== false && {
      // A call with invalid input is refused in any case, so it needs no approval.
      approve: async (call: ToolCall) => {
        const input = await madeInput(schema, name, { input: call.input, by: call })
        if (E.isLeft(input)) return false
        return approve === true || approve({ ...call, input: input.right })
      },
    }),
  }))(inputSchemaOf(schema, inputSchema))
}
