import { onPostgres } from '../durable-postgres.ts'
import type { PartResult } from '../report.ts'
import { pickupFigures, pickupNote, pickupTitle, withProcesses } from './pickup.ts'

/** Pickup by two idle worker processes. */
export const postgresPickup = (_: string, isQuick: boolean): Promise<PartResult> =>
  onPostgres(async (server) => {
    const steps = isQuick ? 50 : 400
    const name = 'two worker processes'
    return {
      title: pickupTitle,
      figures: await pickupFigures(name, await withProcesses(server.url()), steps, [15, 50]),
      notes: [pickupNote(steps)],
    }
  })
