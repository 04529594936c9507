/** Functions that are told what a stream yields. */
export interface StreamWatcher<T> {
  /** Called with each part when it is read; the reader gets the part unless this returns false. */
  readonly onPart: (part: T) => boolean
  /** Called once: with true at the end, with false if the stream fails or is left. */
  readonly onEnd: (isWhole: boolean) => void
}

/** Returns a stream with the parts of another one, each read when the reader asks for it. */
export const watchedStream = <T>(
  stream: ReadableStream<T>,
  { onPart, onEnd }: StreamWatcher<T>,
): ReadableStream<T> => {
  const source = stream.getReader()
  let isEnded = false
  const finish = (isWhole: boolean): void => {
    if (!isEnded) onEnd(isWhole)
    isEnded = true
  }
  return new ReadableStream<T>(
    {
      pull: async (controller) => {
        try {
          let read = await source.read()
          while (!read.done && !onPart(read.value)) read = await source.read()
          if (!read.done) return controller.enqueue(read.value)
          finish(true)
          controller.close()
        } catch (error) {
          finish(false)
          throw error
        }
      },
      cancel: (reason) => {
        finish(false)
        return source.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
