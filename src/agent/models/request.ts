import type { RenderResult } from '../../projections/render/renderer.ts'
import type { ModelRequest } from './model.ts'

type Asked = Pick<ModelRequest, 'system' | 'tools' | 'messages'> & Pick<RenderResult, 'tool_choice'>

/** Combines rendered content with a model and parameters into a complete request. */
export const requestWith = (
  { system, tools, tool_choice, messages }: Asked,
  { model, parameters }: Pick<ModelRequest, 'model' | 'parameters'>,
): ModelRequest => ({
  model,
  parameters: { ...parameters, ...(tool_choice && { tool_choice }) },
  ...(system !== undefined && { system }),
  ...(tools && { tools }),
  messages,
})
