import type { ComponentType } from 'preact'
import type { ApiSource } from './source/source.ts'
import type { Parameters } from './url.ts'

/** What every page gets. */
export interface PageProps {
  readonly source: ApiSource
  readonly params: Parameters
  /** The query of the address, with its `?`. */
  readonly search: string
}
export type PageComponent = ComponentType<PageProps>
