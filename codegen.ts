import type { CodegenConfig } from '@graphql-codegen/cli'

// From the committed schema and the operations beside the client: so the client is what integrators would build.
const config: CodegenConfig = {
  schema: 'schema.graphql',
  documents: 'client/src/operations/*.graphql',
  generates: {
    'client/src/generated/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false, persistedDocuments: true },
      config: {
        documentMode: 'string',
        enumsAsTypes: true,
        // A server may know enum values that this client does not: they reach the caller as their text.
        futureProofEnums: true,
        strictScalars: true,
        useTypeImports: true,
        emitLegacyCommonJSImports: false,
        importExtension: '.ts',
        scalars: {
          BigInt: 'string',
          Date: 'string',
          DateTime: 'string',
          EventCursor: 'string',
          ID: 'string',
          JSON: 'unknown',
          JSONObject: 'Record<string, unknown>',
          PersonaFilter: { input: 'never', output: 'PersonaFilterInput' },
          UUID: 'string',
        },
      },
    },
  },
}

export default config
