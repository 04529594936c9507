import { createHash } from 'node:crypto'
import { escapeHtml } from './escape-html.ts'

/** Returns the hash of a text as a source for a content security policy. */
export const hashOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`

interface Head {
  readonly title: string
  /** Content security policy. */
  readonly policy: string
  readonly style: string
}

/** Makes the head of a self-contained HTML file, up to its body. */
export const headOf = ({ title, policy, style }: Head): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>`
