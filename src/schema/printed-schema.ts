import { lexicographicSortSchema, printSchema, type GraphQLSchema } from 'graphql'

/** The schema as text, always in the same order, so that a change shows as what it is. */
export const printedSchema = (schema: GraphQLSchema): string => `${printSchema(lexicographicSortSchema(schema))}\n`
