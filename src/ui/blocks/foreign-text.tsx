import { options } from 'preact'
import { exact, hasInvisible, plain } from './exact.ts'

/** Attributes whose text a browser shows or a screen reader says. */
const attributes = ['title', 'aria-label', 'alt', 'placeholder']

/**
 * Names the invisible characters in every text and in every readable attribute that Preact renders from now on. Any text may come from
 * a model, a tool or another program, so no component has to ask for this. Must run before the first render.
 */
export const nameInvisible = (): void => {
  const before = options.vnode?.bind(options)
  options.vnode = (vnode) => {
    before?.(vnode)
    const props: unknown = vnode.props
    // Preact also makes a node for each text: without a type, and with the text in place of properties.
    if (typeof props === 'string') {
      if (hasInvisible(props)) Object.assign(vnode, { type: ForeignText, props: { text: props } })
    } else if (typeof vnode.type === 'string' && isRecord(props))
      for (const name of attributes) {
        const text = props[name]
        if (typeof text === 'string' && hasInvisible(text)) props[name] = plain(text)
      }
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** Shows a text unchanged, except that invisible characters are replaced by their names. */
const ForeignText = ({ text }: { readonly text: string }) => (
  <>
    {exact(text).map((piece, index) =>
      typeof piece === 'string' ? (
        piece
      ) : (
        <span key={index} class="invisible" title={`an invisible character: ${piece.name}`}>
          {piece.name}
        </span>
      ),
    )}
  </>
)
