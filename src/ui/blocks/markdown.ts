import DOMPurify from 'dompurify'
import { Marked } from 'marked'
import { type ComponentChildren, h } from 'preact'

// Loaded when the user switches to rendered text. Text from a model is untrusted: HTML in it is shown as text, images are shown as
// their addresses, and the HTML that marked makes of the rest is sanitized. Preact renders the result, so that invisible characters are
// named as in any other text.

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const marked = new Marked({
  async: false,
  gfm: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => escaped(`[image ${text}: ${href}]`),
  },
})

const rules = {
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOWED_TAGS:
    'p br hr h1 h2 h3 h4 h5 h6 em strong del code pre blockquote ul ol li a table thead tbody tr th td'.split(
      ' ',
    ),
  ALLOWED_ATTR: ['href', 'title', 'align', 'start'],
  RETURN_DOM_FRAGMENT: true as const,
}

/** Renders Markdown as safe elements, without scripts, styles, forms or anything that causes a request. */
export const renderMarkdown = (text: string): ComponentChildren =>
  childrenOf(DOMPurify.sanitize(marked.parse(text) as string, rules))

/** Converts the children of a node. Browsers nest at most 512 elements of parsed HTML. */
const childrenOf = ({ childNodes }: Node): ComponentChildren =>
  Array.from(childNodes, (child) =>
    child instanceof Element
      ? h(
          child.localName,
          Object.fromEntries(Array.from(child.attributes, ({ name, value }) => [name, value])),
          childrenOf(child),
        )
      : child.nodeValue,
  )
