import { Fragment } from 'preact'
import { keymap, formatKey, topics } from './keys.ts'
import { Sheet } from './sheet.tsx'
import { possible } from './use-keys.ts'

/** Lists the keys that work on the current page. */
export const KeysSheet = () => {
  const here = possible()
  return (
    <Sheet title="Keys" class="wide">
      <div class="keys">
        {topics.map((topic) => {
          const all = here.filter((action) => keymap[action].topic === topic)
          return (
            all.length > 0 && (
              <section key={topic}>
                <h3>{topic}</h3>
                <dl>
                  {all.map((action) => (
                    <Fragment key={action}>
                      <dt>
                        {keymap[action].keys.map((keys) => (
                          <kbd key={keys}>{formatKey(keys)}</kbd>
                        ))}
                      </dt>
                      <dd>{keymap[action].does}</dd>
                    </Fragment>
                  ))}
                </dl>
              </section>
            )
          )
        })}
      </div>
    </Sheet>
  )
}
