import { useEffect, useState } from 'preact/hooks'
import { size } from '../words.ts'

/** Media types of images that the page displays: those that cannot contain scripts. */
const shown = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

interface ImageProps {
  readonly type: string
  /** Image data in base64; possibly clipped by the server. */
  readonly data: string
  /** Full length of the base64 data, in characters. */
  readonly length?: number | undefined
  /** Loads the full image; needed if the server has clipped `data`. */
  readonly load?: (() => Promise<Blob>) | undefined
}

/** Shows an image from its stored bytes, small at first and in full size after a click. Never loads a URL. */
export const Image = ({ type, data, length = data.length, load }: ImageProps) => {
  const [url, setUrl] = useState<string>()
  const [isLarge, setLarge] = useState(false)
  const isCut = length > data.length
  useEffect(() => {
    if (!shown.has(type)) return undefined
    let made: string | undefined
    let isGone = false
    const show = (blob: Blob): void => {
      if (isGone) return
      made = URL.createObjectURL(new Blob([blob], { type }))
      setUrl(made)
    }
    if (!isCut) show(blobOf(data))
    else void load?.().then(show, () => undefined)
    return () => {
      isGone = true
      if (made !== undefined) URL.revokeObjectURL(made)
    }
  }, [type, data])
  const about = `${type || 'image'}, ${size(Math.floor((length * 3) / 4))}`
  if (url === undefined) return <p class="nothing">{about}</p>
  return (
    <figure>
      <button type="button" class="image" aria-expanded={isLarge} onClick={() => setLarge(!isLarge)}>
        <img src={url} alt={about} class={isLarge ? 'large' : ''} />
      </button>
      <figcaption>{about}</figcaption>
    </figure>
  )
}

/** Decodes base64; returns an empty blob for invalid base64. */
export const blobOf = (base64: string): Blob => {
  try {
    return new Blob([Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0)])
  } catch {
    return new Blob([])
  }
}
