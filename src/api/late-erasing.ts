import type { CoveringHold, HoldFinder } from '../conversation/beside/hold-finder.ts'
import type { SideStreams } from '../conversation/conversation.ts'
import type { EraseError, ErasedContent } from '../conversation/writing/erase.ts'
import type { Fallible } from '../result/fallible.ts'
import type { StoreError } from '../store/errors.ts'
import type { RetentionContext } from './retention.ts'

/** Returns the functions that erase content and find legal holds. Their code is loaded on first use, because few programs need it. */
export const lateErasing = ({
  onErased,
  ...stores
}: RetentionContext): Pick<SideStreams, 'holder' | 'subagents' | 'erase'> => {
  let finder: HoldFinder | undefined
  const holds = async (): Promise<HoldFinder> => {
    const { createHoldFinder } = await import('../conversation/beside/hold-finder.ts')
    return (finder ??= createHoldFinder(stores.events))
  }
  return {
    holder: async function* (id): Fallible<StoreError, CoveringHold | undefined> {
      return yield* (await holds()).holding(id)
    },
    subagents: async function* (id, before): Fallible<StoreError, readonly string[]> {
      const all = yield* (await holds()).subagentsOf(id)
      if (!before) return all
      const { firstOlder } = await import('../conversation/writing/erase.ts')
      const found: string[] = []
      for (const subagent of all)
        if ((yield* firstOlder(stores, subagent, before)) !== undefined) found.push(subagent)
      return found
    },
    erase: async function* (id, options): Fallible<EraseError, ErasedContent> {
      const { erase } = await import('../conversation/writing/erase.ts')
      const erased = yield* erase({ ...stores, holds: await holds() }, id, options)
      if (options.dryRun !== true) await onErased()
      return erased
    },
  }
}
