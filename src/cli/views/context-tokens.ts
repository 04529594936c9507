import { countTokens } from '../../agent/context/tokens/tokens.ts'
import { configurationOf, type Effective } from '../../projections/effective.ts'
import { toolsOf } from '../../projections/render/renderer.ts'
import { thousands } from '../text.ts'

/** Tokens of a context, with the fields of a list. */
export interface ContextTokens {
  readonly tokens: number
  readonly isMeasured: boolean
  readonly unrecorded?: number
}

/** Counts the tokens of what the model sees. */
export const contextTokens = (effective: Effective): ContextTokens => {
  const { total, estimated, prompt, anchor } = countTokens(effective)
  const isRecorded = configurationOf(effective).system !== undefined || toolsOf(effective).tools !== undefined
  return {
    tokens: total,
    isMeasured: anchor !== undefined && estimated === 0,
    ...(!isRecorded && prompt > 0 && { unrecorded: prompt }),
  }
}

/** Formats tokens of a context as the page does: `about 26.1k tokens in context, 4.2k of them not recorded (system, tools)`. */
export const contextTokensText = ({ tokens, isMeasured, unrecorded = 0 }: ContextTokens): string =>
  [
    `${isMeasured || tokens === 0 ? '' : 'about '}${thousands(tokens)} tokens in context`,
    ...(unrecorded > 0 ? [`${thousands(unrecorded)} of them not recorded (system, tools)`] : []),
  ].join(', ')
