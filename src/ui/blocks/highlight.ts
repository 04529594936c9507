import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import elixir from 'highlight.js/lib/languages/elixir'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import { type ComponentChildren, h } from 'preact'

// Loaded when the first code is shown. Each language has aliases, among them the usual endings of file names.

const languages = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  elixir,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  php,
  python,
  ruby,
  rust,
  sql,
  swift,
  typescript,
  xml,
  yaml,
}
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language)

/** Returns code as elements with a class for each kind of word; the code unchanged if its language is unknown. */
export const highlight = (text: string, language: string): ComponentChildren => {
  if (!hljs.getLanguage(language)) return text
  return elementsOf(hljs.highlight(text, { language, ignoreIllegals: true }).value)
}

const escapes: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" }

/** Converts the HTML of highlight.js, which has only spans with a class, and text. */
const elementsOf = (html: string): ComponentChildren => {
  const open: { readonly kind: string; readonly children: ComponentChildren[] }[] = [
    { kind: '', children: [] },
  ]
  for (const [, kind, end, text = ''] of html.matchAll(/<span class="([^"]*)">|(<\/span>)|([^<]+)/g)) {
    const top = open.at(-1)
    if (kind !== undefined) open.push({ kind, children: [] })
    else if (end === undefined)
      top?.children.push(
        text.replaceAll(/&(amp|lt|gt|quot|#x27);/g, (all, name: string) => escapes[name] ?? all),
      )
    else if (open.length > 1) {
      open.pop()
      open.at(-1)?.children.push(h('span', { class: top?.kind ?? '' }, top?.children))
    }
  }
  return open[0]?.children
}
