import { announce } from './announcer.tsx'

/** Copies a text to the clipboard, and announces the result. */
export const copyText = (text: string | Promise<string>, done: string): void => {
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(await text)
    announce(done)
  }
  copy().catch(() => announce('The browser did not allow this page to copy'))
}
