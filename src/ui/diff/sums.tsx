import { formatSigned } from '../acts/preview.ts'
import { number } from '../words.ts'

interface SumsProps {
  readonly left: number
  readonly came: number
  readonly turned?: number
  readonly kept: number
}

export const Sums = ({ left, came, turned = 0, kept }: SumsProps) => (
  <p class="sums figures">
    {left > 0 && <span class="left">{formatSigned(-left)} removed</span>}
    {came > 0 && <span class="came">{formatSigned(came)} added</span>}
    {turned > 0 && <span class="turned">{number(turned)} changed</span>}
    <span class="faint">{number(kept)} kept</span>
  </p>
)
