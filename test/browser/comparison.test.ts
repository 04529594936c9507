import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { inDirectory, shell } from '../cli/palimpsest.ts'
import { root } from '../e2e/snippets/snippets.ts'
import { faultsOf } from '../support/axe.ts'
import { browsing, noBrowser } from '../support/browser.ts'

describe(`replay --compare --html${noBrowser}`, { skip: noBrowser !== '' }, () => {
  test('writes one file that is legible at every width and in both themes, and asks nobody for anything', () =>
    inDirectory(async (directory) => {
      await shell(`palimpsest import ${join(root, 'examples/sessions/receipts.jsonl')}`, directory)
      const policies = { keep: { mode: 'keep' }, small: { mode: 'truncate' } }
      const written = Object.entries(policies).map(
        ([name, policy]) =>
          `echo '${JSON.stringify({ name, context: { window: name === 'keep' ? 7_000 : 4_000, reserved: 800 }, ...policy })}' > ${name}.json`,
      )
      await shell(written.join('; '), directory)
      const ran = await shell(
        'palimpsest replay hours-invoice --compare keep.json small.json --html if.html',
        directory,
      )
      expect(ran).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^kept as recorded.*2 markers.*\n$/) as string,
      })
      for (const [colorScheme, width] of [
        ['light', 390],
        ['dark', 1280],
      ] as const) {
        const page = await browsing({ colorScheme, viewport: { width, height: 900 } })
        await page.goto(`file://${join(directory, 'if.html')}`)
        expect(await page.title()).toBe('What if: hours-invoice')
        const { scroll, small, curves } = (await page.evaluate(`({
          scroll: document.documentElement.scrollWidth,
          small: [...document.querySelectorAll('p, td, th, li, span, figcaption')]
            .filter((each) => parseFloat(getComputedStyle(each).fontSize) < 12).length,
          curves: [...document.querySelectorAll('.plot')]
            .map(({ clientWidth, clientHeight }) => [clientWidth > 250, clientHeight > 150]),
        })`)) as { readonly scroll: number; readonly small: number; readonly curves: readonly unknown[] }
        expect([scroll, small]).toEqual([width, 0])
        expect(await faultsOf(page)).toEqual([])
        expect(curves).toEqual(Array.from({ length: 3 }, () => [true, true]))
        if (width > 390) continue
        // The edge is shaded while there is more beyond it, and each row still says whose it is.
        const totals = page.getByRole('region', { name: 'Totals' })
        const { x = 0, y = 0, width: wide = 0, height = 0 } = (await totals.boundingBox()) ?? {}
        const edge = () =>
          page.screenshot({ clip: { x: x + wide - 4, y: y + height - 4, width: 4, height: 3 } })
        const before = await edge()
        await totals.evaluate((node) => node.scrollTo(node.scrollWidth, 0))
        expect((await edge()).equals(before)).toBe(false)
        const policy = await totals.getByRole('rowheader', { name: 'recorded' }).boundingBox()
        expect(policy?.x).toBe(x)
      }
    }))
})
