import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { announce } from '../announcer.tsx'
import { type ApiSource, problemOf } from '../source/source.ts'
import { apiOf } from '../url.ts'

interface RenameProps {
  readonly source: ApiSource
  readonly id: string
  readonly title: string
  /** Called with the new title; without one if the title stays. */
  readonly done: (title?: string) => void
}

/** Asks for a new title, and records it as a note of the conversation. */
export const Rename = ({ source, id, title, done }: RenameProps) => {
  const [typed, setTyped] = useState(title)
  const [isBusy, setBusy] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => field.current?.select(), [])
  const save = async (): Promise<void> => {
    const next = typed.trim()
    if (next === '' || next === title) return done()
    setBusy(true)
    try {
      await source.post(apiOf(id, '/notes'), { kind: 'title', data: next })
      announce(`Renamed to ${next}`)
      return done(next)
    } catch (problem) {
      setBusy(false)
      announce(problemOf(problem).detail)
      return undefined
    }
  }
  return (
    <form
      class="renaming"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <h1 class="sr-only">{title}</h1>
      <input
        ref={field}
        aria-label="Title"
        autocomplete="off"
        maxLength={1_000}
        dir="auto"
        value={typed}
        disabled={isBusy}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && done()}
      />
      <button type="submit" class="primary" disabled={isBusy}>
        Rename
      </button>
      <button type="button" class="quiet" onClick={() => done()}>
        Cancel
      </button>
    </form>
  )
}
