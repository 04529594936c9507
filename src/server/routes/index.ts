import type { Route } from '../route.ts'
import * as audit from './audit.ts'
import * as bisections from './bisections.ts'
import * as blocks from './blocks.ts'
import * as calls from './calls.ts'
import * as commands from './commands.ts'
import * as conversations from './conversations.ts'
import * as diffs from './diffs.ts'
import * as erase from './erase.ts'
import * as events from './events.ts'
import * as exports from './exports.ts'
import * as investigate from './investigate.ts'
import * as lookups from './lookups.ts'
import * as reads from './reads.ts'
import * as turns from './turns.ts'
import * as workers from './workers.ts'

export const routes: readonly Route[] = [
  conversations,
  events,
  reads,
  diffs,
  lookups,
  blocks,
  calls,
  exports,
  commands,
  erase,
  turns,
  workers,
  audit,
  investigate,
  bisections,
].flatMap((group) => Object.values<Route>(group))
