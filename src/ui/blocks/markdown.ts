import DOMPurify from 'dompurify'
import { Marked } from 'marked'

// Loaded when the user switches to rendered text. Text from a model is untrusted: HTML in it is shown as text, images are shown as
// their addresses, and the HTML that marked makes of the rest is sanitized.

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
  RETURN_TRUSTED_TYPE: true,
}

/** Renders Markdown as safe HTML, without scripts, styles, forms or anything that causes a request. */
export const renderMarkdown = (text: string): string =>
  DOMPurify.sanitize(marked.parse(text) as string, rules)
