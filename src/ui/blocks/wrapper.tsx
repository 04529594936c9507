import { Unchanged } from './unchanged.tsx'
import { gistOf, type WrappedText } from './wrappers.ts'

/** Shows a wrapped part of a text as a chip with its name. Its content is folded, unless it is one short line. */
export const Wrapper = ({ part }: { readonly part: WrappedText }) => {
  const gist = gistOf(part)
  const chip = <span class="chip">{part.tag.replaceAll(/[-_]/g, ' ')}</span>
  if (part.text === gist && gist.length <= 100)
    return (
      <p class="wrapper">
        {chip} <span class="gist">{gist}</span>
      </p>
    )
  return (
    <details class="wrapper" onClick={(event) => event.stopPropagation()}>
      <summary>
        {chip} <span class="gist">{gist}</span>
      </summary>
      <Unchanged text={part.text} isCut={part.isCut} />
    </details>
  )
}
