import type { DownloadFile } from './source/source.ts'

export const download = ({ blob, name }: Pick<DownloadFile, 'blob' | 'name'>): void => {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  // The browser may read the URL a moment later.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
