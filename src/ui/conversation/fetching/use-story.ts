import { apiPathOf } from '../../../server/client/api-path.ts'
import type { MarkerStoryResponse } from '../../source/answers.ts'
import type { ApiSource } from '../../source/source.ts'
import { useFetched } from '../../states.tsx'

/** Returns what a marker hid and what its summary lost; undefined without a marker and until the answer arrives. */
export const useStory = (
  source: ApiSource,
  id: string,
  marker: number | undefined,
): MarkerStoryResponse | undefined => {
  const path =
    marker === undefined ? undefined : apiPathOf('/conversations/{id}/markers/{marker}', { id, marker })
  const { value } = useFetched(source, path)
  return value?.marker === marker ? value : undefined
}
