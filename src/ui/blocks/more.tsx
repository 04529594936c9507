/** Shows a button that expands or collapses a text without selecting the row around it. */
export const More = ({
  onClick,
  children,
}: {
  readonly onClick: () => void
  readonly children: preact.ComponentChildren
}) => (
  <button
    type="button"
    class="more"
    onClick={(event) => {
      event.stopPropagation()
      onClick()
    }}
  >
    {children}
  </button>
)
