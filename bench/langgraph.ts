// npm run bench:langgraph [-- [--quick | --full]]: what a thread of LangGraph takes in a store, beside its own checkpointer for SQLite.
// Prints the results, and writes them to RESULTS-langgraph.md. `--full` also measures the delta channel,
// `synchronous=normal`, and 10,000 messages: half an hour.
import { langgraph } from './parts/langgraph.ts'
import { inTurn } from './parts-in-turn.ts'

await inTurn('langgraph', { langgraph })
