import { useState } from 'preact/hooks'
import { toast } from '../acts/toast.tsx'
import { download } from '../download.ts'
import { closeSheet, Sheet } from '../sheet.tsx'
import { problemOf, type ApiSource } from '../source/source.ts'
import { number } from '../words.ts'
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

/** Shows a form that downloads the conversation at a position as a file. */
export const ExportSheet = ({ source, id, at }: ExportSheetProps) => {
  const [format, setFormat] = useState<string>(formats[0][0])
  const [refusal, setRefusal] = useState<string>()
  const save = async (): Promise<void> => {
    try {
      const file = await source.file(apiOf(id, '/exports'), { format, at })
      download(file)
      closeSheet()
      toast(<span>Saved {file.name}</span>)
    } catch (error) {
      setRefusal(problemOf(error).detail)
    }
  }
  return (
    <Sheet
      title="Export"
      actions={
        <>
          <button type="button" onClick={closeSheet}>
            Cancel
          </button>
          <button type="submit" form="export" class="primary">
            Save
          </button>
        </>
      }
    >
      <p class="faint">
        <bdi>{id}</bdi> as of position {number(at)}.
      </p>
      <form
        id="export"
        class="formats"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        {formats.map(([name, words, purpose]) => (
          <label key={name}>
            <input
              type="radio"
              name="format"
              value={name}
              autofocus={name === formats[0][0]}
              checked={name === format}
              onChange={() => setFormat(name)}
            />
            <b>{words}</b> <span class="faint">{purpose}</span>
          </label>
        ))}
      </form>
      {refusal !== undefined && (
        <p class="refusal" role="alert">
          {refusal}
        </p>
      )}
    </Sheet>
  )
}
