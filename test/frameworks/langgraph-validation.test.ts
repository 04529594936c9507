import { validate } from '@langchain/langgraph-checkpoint-validation'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { checkpointSaver } from '../../src/frameworks/langgraph.ts'
import { openStore } from '../../src/index.ts'

// LangGraph's own checks of a checkpointer, which find the functions of the test runner among the globals.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it })

validate({
  checkpointerName: 'palimpsest',
  createCheckpointer: async () => checkpointSaver(await openStore('memory:')),
})
