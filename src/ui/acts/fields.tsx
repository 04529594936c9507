import type { ActDraft } from './acts.ts'

interface FieldsProps {
  readonly draft: ActDraft
  readonly change: (draft: ActDraft) => void
}

export const Fields = ({ draft, change }: FieldsProps) => {
  switch (draft.act) {
    case 'rewind':
      // An undo or redo determines its position and reason itself.
      return draft.way ? null : (
        <div class="inputs">
          <Position isFirst label="to position" value={draft.to} set={(to) => change({ ...draft, to })} />
          <Line
            label="reason (optional)"
            value={draft.reason}
            set={(reason) => change({ ...draft, reason })}
          />
        </div>
      )
    case 'fork':
      return (
        <div class="inputs">
          <Position label="after position" value={draft.at} set={(at) => change({ ...draft, at })} />
          <Line
            isFirst
            label="id of the new conversation"
            value={draft.id}
            set={(id) => change({ ...draft, id })}
          />
        </div>
      )
    case 'condense':
    case 'truncate':
      return (
        <div class="inputs">
          <Position
            isFirst
            label="from position"
            value={draft.first}
            set={(first) => change({ ...draft, first })}
          />
          <Position label="through" value={draft.last} set={(last) => change({ ...draft, last })} />
          {draft.act === 'truncate' ? (
            <Line
              label="reason (optional)"
              value={draft.reason}
              set={(reason) => change({ ...draft, reason })}
            />
          ) : (
            <label class="whole">
              what the model sees instead
              <textarea
                rows={6}
                value={draft.summary}
                onInput={(event) => change({ ...draft, summary: event.currentTarget.value })}
              />
            </label>
          )}
        </div>
      )
    case 'restore':
      return (
        <div class="inputs">
          <Position
            isFirst
            label="what the marker at position hides"
            value={draft.marker}
            set={(marker) => change({ ...draft, marker })}
          />
        </div>
      )
  }
}

interface PositionProps {
  /** True if this field has the focus when the sheet opens. */
  readonly isFirst?: boolean
  readonly label: string
  readonly value: number
  readonly set: (value: number) => void
}

const Position = ({ isFirst = false, label, value, set }: PositionProps) => (
  <label>
    {label}
    <input
      type="number"
      autofocus={isFirst}
      class="figures"
      min={-1}
      value={Number.isNaN(value) ? '' : value}
      onFocus={(event) => event.currentTarget.select()}
      onInput={(event) => set(event.currentTarget.valueAsNumber)}
    />
  </label>
)

interface LineProps {
  readonly isFirst?: boolean
  readonly label: string
  readonly value: string
  readonly set: (value: string) => void
}

const Line = ({ isFirst = false, label, value, set }: LineProps) => (
  <label class="whole">
    {label}
    <input
      type="text"
      autofocus={isFirst}
      value={value}
      onInput={(event) => set(event.currentTarget.value)}
    />
  </label>
)
