// Indexes a conversation in a file until it comes to an event, at which it is killed in the middle of its work.
import { catalogueOf } from '../../support/catalogue/patient.ts'
import { openEvents } from '../../../src/api/open.ts'
import { orThrow } from '../../../src/result/fallible.ts'
import type { EventStore, RecordedEvent } from '../../../src/store/port.ts'

const [url = '', place = '', id = '', revision = ''] = process.argv.slice(2)
const store = await orThrow(openEvents(url))

const deadly = (event: RecordedEvent): RecordedEvent =>
  Object.defineProperty({ ...event }, 'metadata', {
    get: () => {
      process.kill(process.pid, 'SIGKILL')
      return event.metadata
    },
  })

const killing: EventStore = {
  ...store,
  readAll: (range) => async () => {
    const page = await store.readAll(range)()
    if (page._tag === 'Left') return page
    const events = page.right.events.map((event) =>
      event.revision === Number(revision) ? deadly(event) : event,
    )
    return { ...page, right: { ...page.right, events } }
  },
}

await orThrow(catalogueOf(killing, place).outline(id))
