import { set, useSetting } from '../settings.ts'

const names = { rendered: 'Rendered', exact: 'Exact' } as const

interface TextSwitchProps {
  /** Form that the address asks for; undefined if the user's own setting applies. */
  readonly form?: keyof typeof names | undefined
  /** Changes to the other form; default: changes the user's own setting. */
  readonly change?: () => void
}

/** Shows both forms of texts, with the current one pressed. The choice is remembered. */
export const TextSwitch = ({ form, change }: TextSwitchProps) => {
  const own = useSetting('text')
  const current = form ?? own
  return (
    <div class="text-switch" role="group" aria-label="Text">
      {(['rendered', 'exact'] as const).map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={current === name}
          onClick={() => {
            if (current === name) return
            if (change) change()
            else set('text', name)
          }}
        >
          {names[name]}
        </button>
      ))}
    </div>
  )
}
