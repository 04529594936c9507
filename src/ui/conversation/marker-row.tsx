import type { HiddenByMarker } from '../../core.ts'
import { openSheet, Sheet } from '../sheet.tsx'
import { hrefs } from '../url.ts'
import { brief, count, number } from '../words.ts'
import { ContinueIn } from './continue-in.tsx'
import { At, type GroupRow, InPlace, type RowContext, tokensAround } from './row-parts.tsx'
import { Lost, Story } from './story.tsx'

interface MarkerProps {
  readonly around: RowContext
  readonly row: GroupRow
  readonly isSelected: boolean
}

/** Shows a marker: a band with the number of hidden messages, what happened in the hidden messages, and what the model sees instead. */
export const MarkerRow = ({ around, row, isSelected }: MarkerProps) => {
  const { item, position } = row
  const story = around.story?.marker === position ? around.story : undefined
  const links = { conversation: around.conversation, reveal: around.reveal }
  return (
    <>
      <Band {...{ around, row, isSelected }} />
      {!row.isOpen && (
        <div class="cell left">
          <span class="at" />
          <div class="said">
            {story ? <Story {...{ story, links }} /> : <Outlined hidden={around.hidden.get(position)} />}
          </div>
        </div>
      )}
      <div class="cell right">
        <InPlace around={around} item={item} />
        {story && (
          <div class="narrow-only">
            <Lost {...{ story, links }} />
          </div>
        )}
      </div>
    </>
  )
}

const Band = ({ around, row, isSelected }: MarkerProps) => {
  const { item, isOpen, position } = row
  const { conversation, acts } = around
  const { before, after } = tokensAround(around.outline, item)
  return (
    <div class="band-of-marker">
      <At around={around} position={position} />
      <button
        type="button"
        class="fold"
        aria-expanded={isOpen}
        onClick={() => around.toggle(position)}
        tabIndex={-1}
      >
        <span class="glyph" aria-hidden="true">
          {item.kind === 'summary' ? '▼' : '⌿'}
        </span>
        <span>
          {count(item.messagesHidden, 'message')} hidden · <u>{isOpen ? 'hide' : 'show'}</u>
        </span>
      </button>
      <span class="figures">
        {brief(before)} → {brief(after)} tokens
      </span>
      {isSelected && (
        <span class="acts-of-marker">
          {acts.off === undefined && (
            <>
              <button type="button" class="quiet" onClick={() => acts.restore()}>
                Restore…
              </button>
              <button type="button" class="quiet" onClick={() => acts.forkAt(position - 1)}>
                Fork before…
              </button>
            </>
          )}
          <button
            type="button"
            class="quiet"
            onClick={() => openSheet(<ContinueSheet id={conversation} at={position - 1} />)}
          >
            Continue in…
          </button>
        </span>
      )}
    </div>
  )
}

/** Shows the commands that continue in other clients from before a marker. */
const ContinueSheet = ({ id, at }: { readonly id: string; readonly at: number }) => (
  <Sheet title={`Continue from ${number(at)} in…`}>
    <p class="faint">
      From before the marker, with all that it hides:{' '}
      <a href={hrefs.conversation(id, { at })}>position {number(at)}</a>.
    </p>
    <ContinueIn id={id} at={at} workspace={undefined} isOpen />
  </Sheet>
)

const toolsShown = 5

/** Shows the most frequent tools called in hidden messages: `22 Bash 16 Read 13 Grep`. */
const Outlined = ({ hidden }: { readonly hidden: HiddenByMarker | undefined }) => {
  if (!hidden || hidden.tools.length === 0) return null
  const rest = hidden.tools.length - toolsShown
  return (
    <span class="outline figures">
      {hidden.tools.slice(0, toolsShown).map(([name, calls]) => (
        <span key={name}>
          {number(calls)} <b>{name}</b>
        </span>
      ))}
      {rest > 0 && <span>{number(rest)} more</span>}
    </span>
  )
}
