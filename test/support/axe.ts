import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const tags = 'wcag2a wcag2aa wcag21a wcag21aa wcag22aa best-practice experimental RGAAv4 section508'.split(
  ' ',
)
/** All rules but those of WCAG's level AAA, and the experimental one that lets nothing but widgets have the focus: rows have it, too. */
const options = {
  runOnly: tags,
  rules: { 'focus-order-semantics': { enabled: false } },
  resultTypes: ['violations'],
}

interface Found {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
  }[]
}

/** What axe finds fault with, and where. */
export const faultsOf = async (page: Page): Promise<readonly string[]> => {
  if (await page.evaluate('!window.axe')) await page.evaluate(axe)
  const found = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as Found
  return found.violations.flatMap(({ id: rule, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${rule}: ${html.slice(0, 200)}\n${failureSummary}`),
  )
}

/** What it finds in either theme. */
export const faultsInBoth = async (page: Page): Promise<readonly string[]> => {
  const faults: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    faults.push(...(await faultsOf(page)).map((fault) => `${colorScheme}: ${fault}`))
  }
  return faults
}
