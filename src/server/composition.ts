import { composeDrafts, createInitialVersion } from '../domain/organisation/index.ts'
import type { OnTenantCreated } from '../viewer/index.ts'

// Where the domains meet what runs them. Imported by the process and by each of its worker threads, so that both
// know the same evaluators, actions and job types.

/** The evaluators and actions of model drafts. */
export const drafts = composeDrafts()

/** What each domain does in the transaction that makes a tenant. */
export const tenantHooks: readonly OnTenantCreated[] = [createInitialVersion]
