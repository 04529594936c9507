import type { ComponentType } from 'preact'
import type { ApiSource } from './source/source.ts'
import type { Parameters } from './url.ts'

/** Props of every page. */
export interface PageProps {
  readonly source: ApiSource
  readonly params: Parameters
  /** Query of the address, including `?`. */
  readonly search: string
}
export type PageComponent = ComponentType<PageProps>
