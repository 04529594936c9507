import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

// Tests against real servers in containers. Where no container engine answers they are skipped.
export default defineConfig({
  ...base,
  test: {
    include: ['test/docker/*.docker.test.ts'],
    globalSetup: ['test/docker/notice.ts'],
    // With the titles of what was skipped, which say why.
    reporters: ['verbose'],
    // Both use the compose file.
    fileParallelism: false,
    // The first start downloads images.
    testTimeout: 15 * 60_000,
    hookTimeout: 15 * 60_000,
  },
})
