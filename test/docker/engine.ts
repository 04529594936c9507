import { getContainerRuntimeClient } from 'testcontainers'

/** Why no containers can be started here, or undefined where they can. A command-line client may be there without an engine. */
export const engineProblem: string | undefined = await getContainerRuntimeClient().then(
  () => undefined,
  (error: unknown) =>
    `no container engine answers: ${error instanceof Error ? error.message : String(error)}`,
)

/** Behind the title of what is skipped: why. */
export const reason = engineProblem === undefined ? '' : ` (skipped: ${engineProblem})`
