// npm run bench:postgres [-- [--quick] [PART…]]: the adapter on a PostgreSQL server of its own, beside raw pg and other programs. Prints
// the results; after a whole run writes them to RESULTS-postgres.md.
import { postgresAppend } from './parts/postgres-append.ts'
import { postgresList } from './parts/postgres-list.ts'
import { postgresLoad } from './parts/postgres-load.ts'
import { postgresPickup } from './parts/postgres-pickup.ts'
import { postgresSteps } from './parts/postgres-steps.ts'
import { inTurn } from './parts-in-turn.ts'

await inTurn('postgres', {
  append: postgresAppend,
  load: postgresLoad,
  list: postgresList,
  pickup: postgresPickup,
  steps: postgresSteps,
})
