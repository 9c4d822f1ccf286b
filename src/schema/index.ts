import type { GraphQLSchema } from 'graphql'
import { builder } from './builder.ts'
import './errors/user-errors.ts'
import './event-cursor-query.ts'
import './jobs/index.ts'
import './organisation/index.ts'
import './scalars/index.ts'
import './tenant.ts'
import './viewer.ts'

/** The API. Built once; holds no state of its own. */
export const schema: GraphQLSchema = builder.toSchema()

export { MOST_COMPLEXITY, MOST_DEPTH } from './builder.ts'
export { makeContext, type ApiContext, type ApiContextParts, type ApiLog } from './context.ts'
export { operatedJobs, type OperatedJobs } from './jobs/operated-jobs.ts'
export { API_ERROR_CODES, apiError, isApiErrorCode, type ApiErrorCode } from './errors/index.ts'
