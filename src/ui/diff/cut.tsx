import { number } from '../words.ts'

interface CutProps {
  /** The part of a history that was fetched. */
  readonly shown: { readonly items: readonly unknown[]; readonly total: number } | undefined
  readonly id: string
}

/** Says that only the beginning of a history is compared, if that is so. */
export const Cut = ({ shown, id }: CutProps) =>
  shown && shown.total > shown.items.length ? (
    <p class="faint">
      {`Of ${id} the first ${number(shown.items.length)} of ${number(shown.total)} items are compared.`}
    </p>
  ) : null
