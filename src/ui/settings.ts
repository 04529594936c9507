// Display settings of the user, stored in the browser. They contain no data of conversations.

export interface DisplaySettings {
  readonly theme: 'system' | 'light' | 'dark'
  readonly 'single-keys': 'on' | 'off'
  readonly inspector: 'shown' | 'hidden'
}
const defaults: DisplaySettings = { theme: 'system', 'single-keys': 'on', inspector: 'shown' }

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
