export {
  createRegieClient,
  type RegieClient,
  type RegieClientOptions,
  type RequestOptions,
  type SubscribeOptions,
} from './client.ts'
export type { TokenSource } from './connection.ts'
export { RegieError, type ResponseError } from './errors.ts'
export * from './generated/graphql.ts'
export type { Operation } from './operation.ts'
export { isUserError, unwrap, UserErrorOutcome, type Outcome, type SuccessOf } from './outcome.ts'
export type { Subscription, SubscriptionOptions } from './subscription.ts'
