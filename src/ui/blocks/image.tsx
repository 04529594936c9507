import { useEffect, useState } from 'preact/hooks'
import { size } from '../words.ts'

/** Types that browsers show without running anything. */
const shown = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

interface ImageProps {
  readonly type: string
  /** Base64, of which the server may have cut the end. */
  readonly data: string
  /** How long the base64 is in whole. */
  readonly length?: number | undefined
  /** Gives the bytes of an image of which the server has cut the end. */
  readonly load?: (() => Promise<Blob>) | undefined
}

/** An image, from its stored bytes: small, and full when it is clicked. Never from an address. */
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

/** The bytes of base64; none if it is not. */
export const blobOf = (base64: string): Blob => {
  try {
    return new Blob([Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0)])
  } catch {
    return new Blob([])
  }
}
