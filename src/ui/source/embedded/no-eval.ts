import { config } from 'zod'

// Before any schema is made: it would try whether it may turn texts into code, which the policy of the page forbids and reports.
config({ jitless: true })
