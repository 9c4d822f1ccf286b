import { configDefaults, defineConfig } from 'vitest/config'

export default defineConfig(({ mode }) => {
  // `npm run test:long` runs the long forms only: soaks, full-size races, the matrix of Node versions.
  const long = mode === 'long' || process.env['TEST_LONG'] === '1'
  return {
    // Vite would take graphql's "module" build for our own files while every library takes "main": two copies of it,
    // and graphql refuses a schema made by the other one.
    resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
    test: {
      include: [long ? 'test/**/*.long.test.ts' : 'test/**/*.test.ts'],
      exclude: [...configDefaults.exclude, 'dist/**', ...(long ? [] : ['**/*.long.test.ts'])],
      globalSetup: ['test/harness/global-setup.ts'],
      pool: 'forks',
      maxWorkers: 2,
      env: { TEST_LONG: long ? '1' : '' },
      testTimeout: long ? 900_000 : 30_000,
      hookTimeout: long ? 120_000 : 60_000,
    },
  }
})
