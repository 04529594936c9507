import { number } from '../words.ts'

interface CutProps {
  /** Fetched items of a history, and the total number of items. */
  readonly shown: { readonly items: readonly unknown[]; readonly total: number } | undefined
  readonly id: string
}

/** Shows a note that only the beginning of a history was compared; shows nothing if the history is complete. */
export const Cut = ({ shown, id }: CutProps) =>
  shown && shown.total > shown.items.length ? (
    <p class="faint">
      {`Only the first ${number(shown.items.length)} of ${number(shown.total)} items of ${id} are compared.`}
    </p>
  ) : null
