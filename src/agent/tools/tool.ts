import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { check } from '../../events/check.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { orThrow } from '../../result/steps.ts'
import { checkedInput } from './input.ts'
import { inputSchemaOf } from './input-schema.ts'
import { settingsShape, type ToolCall, type ToolContext, type ToolSettings } from './settings.ts'
import { isStandardSchema, type OutputOf, type StandardSchema } from './standard-schema.ts'

/** A tool for `tools` of a turn: what the model is told, and what carries out its calls. */
export interface Tool extends ToolSettings {
  /** As the API takes it. Recorded as it is. */
  readonly definition: ToolDefinition
}

export interface ToolDefinition {
  readonly name: string
  readonly [field: string]: unknown
}

/** A tool with a schema, from which the model's JSON schema is made, and by which every input is checked. */
export interface ToolOptions<S extends StandardSchema> extends Omit<
  ToolSettings,
  'run' | 'approve' | 'check'
> {
  /** 1 to 64 of a–z A–Z 0–9 _ -. */
  readonly name: string
  /** Tells the model what the tool does, and when to use it. */
  readonly description: string
  /** The schema of the input: an object's. */
  readonly input: S
  /** What the model is told in place of what the schema's library would make of the schema, in JSON Schema. */
  readonly inputSchema?: object | undefined
  /** Called with what the schema makes of an input that fits it. */
  readonly run: (input: OutputOf<S>, context: ToolContext) => unknown
  /** Whether somebody has to approve a call before it runs; a function is called with what the schema makes of the input. Default false. */
  readonly approve?: boolean | ((call: ToolCall<OutputOf<S>>) => boolean | Promise<boolean>) | undefined
}

/** What the API accepts as the name of a tool. */
const toolName = /^[a-zA-Z0-9_-]{1,64}$/

const optionsSchema = z.strictObject({
  ...settingsShape,
  name: z.string().regex(toolName, { error: 'is the name of a tool: 1 to 64 of a–z A–Z 0–9 _ -' }),
  description: z.string().min(1, { error: 'tell the model what the tool does' }),
  input: z.custom(isStandardSchema, {
    error: 'is a schema of zod, or of another library that follows https://standardschema.dev',
  }),
  inputSchema: z.record(z.string(), z.unknown()).optional(),
})

/** The input as the schema makes it: a turn has had it made already, other callers have not. */
const madeInput = async <S extends StandardSchema>(
  schema: S,
  tool: string,
  { input, by }: { readonly input: unknown; readonly by: { readonly checked?: unknown } },
): Promise<E.Either<InvalidInput, OutputOf<S>>> =>
  'checked' in by && by.checked === input ? E.right(input) : checkedInput(schema, tool, input)

/**
 * A tool whose input is checked before it runs: of an input that does not fit, the model is told what is wrong, and may call again.
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
    check: (input: unknown) => checkedInput(schema, name, input),
    run: async (input: unknown, context: ToolContext) => {
      return run(await orThrow(madeInput(schema, name, { input, by: context })), context)
    },
    ...(approve !== false && {
      // A call that would be refused needs nobody's approval.
      approve: async (call: ToolCall) => {
        const input = await madeInput(schema, name, { input: call.input, by: call })
        if (E.isLeft(input)) return false
        return approve === true || approve({ ...call, input: input.right })
      },
    }),
  }))(inputSchemaOf(schema, inputSchema))
}
