import { config } from 'zod'

// Must run before any schema is made: zod would test whether it may compile text to code, which the page's content security policy
// forbids and reports.
config({ jitless: true })
