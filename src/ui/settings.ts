import { useEffect, useState } from 'preact/hooks'

// Display settings of the user, stored in the browser. They contain no data of conversations.

export interface DisplaySettings {
  readonly theme: 'system' | 'light' | 'dark'
  readonly 'single-keys': 'on' | 'off'
  readonly inspector: 'shown' | 'hidden'
  /** Form of the texts of messages: rendered, or exactly as they are. */
  readonly text: 'rendered' | 'exact'
}
const defaults: DisplaySettings = {
  theme: 'system',
  'single-keys': 'on',
  inspector: 'shown',
  text: 'rendered',
}

const nameOf = (name: string): string => `palimpsest.${name}`

export const setting = <N extends keyof DisplaySettings>(name: N): DisplaySettings[N] => {
  try {
    return (localStorage.getItem(nameOf(name)) as DisplaySettings[N] | null) ?? defaults[name]
  } catch {
    // The browser does not allow storage.
    return defaults[name]
  }
}

export const set = <N extends keyof DisplaySettings>(name: N, value: DisplaySettings[N]): void => {
  try {
    localStorage.setItem(nameOf(name), value)
  } catch {
    // The browser does not allow storage, so the setting is not kept.
  }
  dispatchEvent(new Event('settingchange'))
}

/** Returns a setting, and renders the component again when it changes. */
export const useSetting = <N extends keyof DisplaySettings>(name: N): DisplaySettings[N] => {
  const [value, setValue] = useState(() => setting(name))
  useEffect(() => {
    const again = (): void => setValue(() => setting(name))
    addEventListener('settingchange', again)
    return () => removeEventListener('settingchange', again)
  }, [name])
  return value
}

export const applyTheme = (): void => {
  const theme = setting('theme')
  document.documentElement.style.colorScheme = theme === 'system' ? '' : theme
  dispatchEvent(new Event('themechange'))
}

const next = { system: 'light', light: 'dark', dark: 'system' } as const
export const nextTheme = (): DisplaySettings['theme'] => {
  const theme = next[setting('theme')]
  set('theme', theme)
  applyTheme()
  return theme
}
