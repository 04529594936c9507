import '../acts/acts.css'
import { useState } from 'preact/hooks'
import { toast } from '../acts/toast.tsx'
import { positionsIn, rangesOf } from '../audit/withhold.ts'
import { download } from '../download.ts'
import { closeSheet, Sheet } from '../sheet.tsx'
import { problemOf, type ApiSource, type SourceProblem } from '../source/source.ts'
import { count, number } from '../words.ts'
import { apiOf } from '../url.ts'

const formats = [
  ['markdown', 'Markdown', 'a document: every message, what was hidden, and why'],
  ['html', 'page', 'what is shown here, in one file that opens without a server'],
  ['anthropic', 'request', 'what the model sees, in the format of the Messages API'],
  ['palimpsest', 'events', 'every event as recorded, one per line, to be imported elsewhere'],
] as const

interface ExportSheetProps {
  readonly source: ApiSource
  readonly id: string
  readonly at: number
}

/** Place in an export: an event, note, link or title, with its position if it has one. */
interface Place {
  readonly kind: string
  readonly position?: number
}
interface Secret {
  readonly in: string
  readonly position?: number
  readonly kind: string
  readonly excerpt: string
}

/** Parsed `palimpsest-export` header, with the name of the file. */
interface Saved {
  readonly name: string
  /** Places that repeat words of what was left out. */
  readonly repeated: readonly Place[]
  /** Number of texts replaced; absent if none were to be. */
  readonly redacted?: number
}

const eventsAmong = (places: readonly { readonly kind: string; readonly position?: number }[]) =>
  places.flatMap(({ kind, position }) => (kind === 'event' && position !== undefined ? [position] : []))

/** Shows a form that downloads the conversation at a position as a file, and can leave something out of it. */
export const ExportSheet = ({ source, id, at }: ExportSheetProps) => {
  const [format, setFormat] = useState<string>(formats[0][0])
  const [withhold, setWithhold] = useState('')
  const [redact, setRedact] = useState('')
  const [isSaving, setSaving] = useState(false)
  const [refusal, setRefusal] = useState<SourceProblem>()
  const [saved, setSaved] = useState<Saved>()
  const isVerbatim = format === 'palimpsest'
  const withheld = isVerbatim ? [] : positionsIn(withhold, at)
  const change = (set: () => void): void => {
    setRefusal(undefined)
    setSaved(undefined)
    set()
  }
  const withholdAlso = (more: readonly number[]): void =>
    change(() => setWithhold(rangesOf([...(withheld ?? []), ...more])))
  const save = async (positions: readonly number[], force: boolean): Promise<void> => {
    change(() => setSaving(true))
    try {
      const texts = isVerbatim ? [] : redact.split('\n').filter((text) => text.trim() !== '')
      const body = { format, at, withhold: positions, redact: texts, force }
      const file = await source.file(apiOf(id, '/exports'), body)
      download(file)
      const told = JSON.parse(file.header('palimpsest-export') ?? '{}') as Partial<Saved>
      const { repeated = [], redacted } = told
      // What the person should know of the file stays; otherwise there is nothing left to do here.
      if (repeated.length > 0 || redacted === 0) {
        setSaved({ name: file.name, repeated, ...(redacted !== undefined && { redacted }) })
        return
      }
      closeSheet()
      toast(<span>Saved {file.name}</span>)
    } catch (error) {
      setRefusal(problemOf(error))
    } finally {
      setSaving(false)
    }
  }
  return (
    <Sheet
      title="Export"
      actions={
        <>
          <button type="button" onClick={closeSheet}>
            {saved ? 'Close' : 'Cancel'}
          </button>
          <button type="submit" form="export" class="primary" disabled={!withheld || isSaving}>
            {isSaving ? 'Saving …' : 'Save'}
          </button>
        </>
      }
    >
      <p class="faint">
        <bdi>{id}</bdi> as of position {number(at)}.
      </p>
      <form
        id="export"
        class="export"
        onSubmit={(event) => {
          event.preventDefault()
          if (withheld && !isSaving) void save(withheld, false)
        }}
      >
        <div class="formats">
          {formats.map(([name, words, purpose]) => (
            <label key={name}>
              <input
                type="radio"
                name="format"
                value={name}
                autofocus={name === formats[0][0]}
                checked={name === format}
                onChange={() => change(() => setFormat(name))}
              />
              <b>{words}</b> <span class="faint">{purpose}</span>
            </label>
          ))}
        </div>
        {isVerbatim ? (
          <p class="faint">The events are hashed, so nothing can be left out of them.</p>
        ) : (
          <div class="inputs">
            <label class="whole">
              withhold the events at (such as 12, 15-17)
              <input
                type="text"
                value={withhold}
                onInput={({ currentTarget }) => change(() => setWithhold(currentTarget.value))}
                aria-invalid={!withheld}
              />
            </label>
            <label class="whole">
              redact these texts (one per line)
              <textarea
                rows={2}
                value={redact}
                onInput={({ currentTarget }) => change(() => setRedact(currentTarget.value))}
              />
            </label>
          </div>
        )}
      </form>
      {!withheld && <p class="refusal">Give positions from 0 to {number(at)}.</p>}
      <div role="status">{saved && <Leaks saved={saved} withhold={withholdAlso} />}</div>
      {refusal !== undefined && (
        <Refusal
          refusal={refusal}
          withhold={isVerbatim ? undefined : withholdAlso}
          force={() => withheld && void save(withheld, true)}
        />
      )}
    </Sheet>
  )
}

interface LeaksProps {
  readonly saved: Saved
  readonly withhold: (positions: readonly number[]) => void
}

/** Says what a saved file still reveals of what was left out of it. */
const Leaks = ({ saved: { name, repeated, redacted }, withhold }: LeaksProps) => {
  const positions = eventsAmong(repeated)
  return (
    <>
      <p>Saved {name}.</p>
      {redacted === 0 && <p class="warning">Nothing was redacted: no text matches exactly.</p>}
      {repeated.length > 0 && (
        <p class="warning">
          <span aria-hidden="true">⚠ </span>
          {positions.length > 0
            ? `Words that were left out also occur at ${rangesOf(positions)}: check whether they may be shown. `
            : 'Words that were left out also occur in notes, links or the title. '}
          {positions.length > 0 && (
            <button type="button" class="link" onClick={() => withhold(positions)}>
              Withhold {positions.length === 1 ? 'it' : 'them'} as well
            </button>
          )}
        </p>
      )}
    </>
  )
}

/** Maximum number of secrets that are listed. */
const mostListed = 10

interface RefusalProps {
  readonly refusal: SourceProblem
  /** Undefined if the format can withhold nothing. */
  readonly withhold: ((positions: readonly number[]) => void) | undefined
  readonly force: () => void
}

/** Says why nothing was exported. If that is because of secrets, lists them, and offers to withhold them or to export anyway. */
const Refusal = ({ refusal, withhold, force }: RefusalProps) => {
  if (refusal.tag !== 'SecretsFound')
    return (
      <p class="refusal" role="alert">
        {refusal.detail}
      </p>
    )
  const secrets = refusal['secrets'] as readonly Secret[]
  const positions = eventsAmong(secrets.map((one) => ({ ...one, kind: one.in })))
  const more = secrets.length - mostListed
  return (
    <div role="alert">
      <p class="refusal">
        Nothing was exported, because of what looks like {count(secrets.length, 'secret')}:
      </p>
      <ul class="secrets">
        {secrets.slice(0, mostListed).map(({ in: where, position, kind, excerpt }, index) => (
          <li key={index}>
            {position === undefined || where !== 'event' ? where : number(position)}: {kind}{' '}
            <code>{excerpt}</code>
          </li>
        ))}
        {more > 0 && <li>and {number(more)} more</li>}
      </ul>
      <p class="choices">
        {withhold && positions.length > 0 && (
          <button type="button" onClick={() => withhold(positions)}>
            Withhold {rangesOf(positions)}
          </button>
        )}
        <button type="button" onClick={force}>
          Export anyway
        </button>
      </p>
    </div>
  )
}
