// npm run bench:audit [-- [--quick] [PART…]]: what the signed ledger takes, and the bundles that it proves. Prints the results, and at the end
// every figure that has a bar; after a whole run writes them to RESULTS-audit.md. The quick form measures the same with fewer conversations.
import { beside } from './parts/sealer-beside.ts'
import { evidence } from './parts/evidence.ts'
import { sealing } from './parts/sealing.ts'
import { inTurn } from './parts-in-turn.ts'

await inTurn('audit', { beside, sealing, evidence })
