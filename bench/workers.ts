// npm run bench:workers [-- [--quick] [PART…]]: what workers take. Prints the results, and at the end every figure that has a bar; after a whole run
// writes them to RESULTS-workers.md. The quick form takes some minutes and measures the same, less often.
import { abort } from './parts/abort.ts'
import { chaos } from './parts/chaos.ts'
import { large } from './parts/large.ts'
import { longCall } from './parts/long-call.ts'
import { pickup } from './parts/pickup.ts'
import { queue } from './parts/queue.ts'
import { steps } from './parts/steps.ts'
import { takeover } from './parts/takeover.ts'
import { inTurn } from './parts-in-turn.ts'

await inTurn('workers', { pickup, abort, steps, queue, takeover, longCall, chaos, large })
