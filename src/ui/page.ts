import type { ComponentType } from 'preact'
import type { ApiSource } from './source/source.ts'
import type { Parameters } from './url.ts'

export interface PageProps {
  readonly source: ApiSource
  readonly params: Parameters
  /** Query string of the address, including `?`. */
  readonly search: string
}
export type PageComponent = ComponentType<PageProps>
