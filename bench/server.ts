// npm run bench:server [-- [--quick] [PART…]]: the HTTP API. Prints the results, and at the end every figure that has a bar; after a whole run
// writes them to RESULTS-server.md.
import { exporting } from './parts/exporting.ts'
import { httpAppend } from './parts/http-append.ts'
import { httpRead } from './parts/http-read.ts'
import { httpSeen } from './parts/http-seen.ts'
import { list } from './parts/list.ts'
import { page } from './parts/page.ts'
import { search } from './parts/search.ts'
import { stuck } from './parts/stuck.ts'
import { inTurn } from './parts-in-turn.ts'

await inTurn('server', {
  read: httpRead,
  append: httpAppend,
  seen: httpSeen,
  list,
  search,
  stuck,
  exporting,
  page,
})
