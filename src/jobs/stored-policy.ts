import type { JobPolicy } from './definition.ts'
import { type Policy, policyId, policyOf, policyOfJob, type PolicyOwner } from './policy.ts'

/** A policy as its row is found and written. */
export interface StoredPolicy {
  readonly id: string
  /** JSON text of `{ id, content }`. */
  readonly row: string
}

interface Known {
  readonly ofType: StoredPolicy
  /** Those that jobs had of their own, by what they say. */
  readonly ofJobs: Map<string, StoredPolicy>
}

/** A definition never changes, and hashing its policy takes longer than all else that is done for one job. */
const known = new WeakMap<PolicyOwner, Known>()

/** Most policies of jobs that are remembered per type: a type whose jobs bring more computes the others each time. */
const MOST_REMEMBERED = 256

/**
 * The policy of a type, or of one of its jobs that has its own.
 *
 * @throws PolicyRefusedError when the type does not allow it
 */
export function storedPolicy(definition: PolicyOwner, own?: JobPolicy): StoredPolicy {
  let entry = known.get(definition)
  if (entry === undefined) {
    entry = { ofType: stored(policyOf(definition)), ofJobs: new Map() }
    known.set(definition, entry)
  }
  if (own === undefined) return entry.ofType
  const { maxAttempts, delaysMs, jitter, maxElapsedMs } = own
  const content = [maxAttempts, String(delaysMs), jitter, maxElapsedMs].join(' ')
  let ofJob = entry.ofJobs.get(content)
  if (ofJob === undefined) {
    ofJob = stored(policyOfJob(definition, own))
    if (ofJob.id === entry.ofType.id) ofJob = entry.ofType
    if (entry.ofJobs.size >= MOST_REMEMBERED) entry.ofJobs.delete(entry.ofJobs.keys().next().value!)
    entry.ofJobs.set(content, ofJob)
  }
  return ofJob
}

function stored(content: Policy): StoredPolicy {
  const id = policyId(content)
  return { id, row: JSON.stringify({ id, content }) }
}
