import type { Browser, CDPSession, Page } from 'playwright-core'

/** A page that is measured from within. */
export interface Watched {
  readonly page: Page
  readonly session: CDPSession
  /** Of this document, after all garbage is collected: its heap and arrays, in bytes. */
  readonly memory: () => Promise<number>
  /** Of the main thread, in milliseconds since the page was opened. */
  readonly busy: () => Promise<number>
  readonly nodes: () => Promise<number>
  readonly close: () => Promise<void>
}

// In the page: when something is there, as of the end of the frame that shows it; and what frames took.
const probe = `window.probe = (() => {
  const frame = () => new Promise((done) => requestAnimationFrame(done))
  /** Rejects after so many milliseconds. */
  const until = async (test, patience = 30_000) => {
    for (const began = performance.now(); performance.now() - began < patience; ) {
      await frame()
      if (test()) return new Promise((done) => setTimeout(() => done(performance.now())))
    }
    throw new Error('it never came to this: ' + test)
  }
  const rows = () => document.querySelector('[role=listitem]') !== null
  const shown = () => Number(document.querySelector('.canvas > [role=list]')?.getAttribute('aria-label')?.slice(9))
  const pressed = () => new Promise((done) => addEventListener('keydown', (key) => done(key.timeStamp), { capture: true, once: true }))
  const paint = () => performance.getEntriesByName('first-contentful-paint')[0]
  const firstRows = until(rows)
  const usable = until(() => rows() && document.querySelector('.ribbon .slider') !== null)
  const drawn = []
  return {
    until, shown, drawn,
    view: async () => {
      await until(paint)
      return { paint: paint().startTime, rows: await firstRows, usable: await usable }
    },
    /** From the next key until a test holds, in milliseconds: probe.time once it does. */
    fromKey: (test) => {
      const measure = async () => {
        const began = await pressed()
        return (await until(test)) - began
      }
      probe.time = measure()
    },
    watchFrames: () => {
      const times = [], long = []
      let before, moves = 0, isOn = true
      const tick = (now) => {
        if (before !== undefined) times.push(now - before)
        before = now
        if (isOn) requestAnimationFrame(tick)
      }
      requestAnimationFrame(tick)
      const tasks = new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) long.push(duration) })
      tasks.observe({ type: 'longtask' })
      const moved = () => moves++
      addEventListener('input', moved)
      probe.frames = () => {
        isOn = false
        tasks.disconnect()
        removeEventListener('input', moved)
        return { times, long, moves }
      }
    },
    /** Notes when each new last row is drawn, as Date.now() says it. */
    watchRows: () => {
      let last = -1
      void until(() => {
        const position = Number([...document.querySelectorAll('[data-position]')].at(-1)?.dataset.position)
        if (position > last) {
          last = position
          setTimeout(() => drawn.push([position, performance.timeOrigin + performance.now()]))
        }
        return false
      }, 600_000).catch(() => undefined)
    },
  }
})()`

/** Opens a page in a window of its own, with nothing cached. */
export const watched = async (chrome: Browser): Promise<Watched> => {
  const viewport = { width: 1440, height: 900 }
  const context = await chrome.newContext({ viewport, reducedMotion: 'reduce', locale: 'en-GB' })
  const page = await context.newPage()
  await page.addInitScript(probe)
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable')
  return {
    page,
    session,
    memory: async () => {
      await session.send('HeapProfiler.collectGarbage')
      const usage: object = await session.send('Runtime.getHeapUsage')
      const { usedSize = 0, backingStorageSize = 0 } = usage as Readonly<Record<string, number>>
      return usedSize + backingStorageSize
    },
    busy: async () => {
      const { metrics } = await session.send('Performance.getMetrics')
      return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
    },
    nodes: () => page.evaluate('document.querySelectorAll("*").length'),
    close: () => context.close(),
  }
}

/** The value that so much of all are at most. */
export const shareOf = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) * share)] ?? Number.NaN
