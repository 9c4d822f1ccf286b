import { defineLifecycle } from '../../../transitions/index.ts'

/** The seed's four statuses; the list is closed. What else there is to know stands in other columns. */
export type ResolutionStatus = 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED'

const SUBMITTED = 'orgmodel.resolution.submitted'
const RESUBMITTED = 'orgmodel.resolution.resubmitted'

/** The lifecycle of a resolution. `* → PENDING` other than from PROCESSING needs a new submission (trigger). */
export const resolutionLifecycle = defineLifecycle<ResolutionStatus>({
  kind: 'org_model_draft_resolution',
  table: 'org_model_draft_resolution',
  noun: 'The resolution',
  statuses: {
    PENDING: { description: 'Waiting for its job: just submitted, or between two attempts. Its issue still blocks.' },
    PROCESSING: { description: 'A worker is carrying out the action. Its issue still blocks.' },
    COMPLETED: { description: 'The action was carried out. The only status that resolves the issue.' },
    FAILED: { description: 'Given up after all attempts, or for good. It can be submitted again.' },
  },
  pairs: [
    { from: null, to: 'PENDING', type: SUBMITTED, when: 'an action is chosen for an issue' },
    { from: 'PENDING', to: 'PROCESSING', type: 'orgmodel.resolution.processing', when: 'a worker begins an attempt' },
    { from: 'PENDING', to: 'FAILED', type: 'orgmodel.resolution.failed', when: 'it is cancelled, or its draft closed' },
    { from: 'PENDING', to: 'PENDING', type: RESUBMITTED, when: 'another choice is made before it ran' },
    { from: 'PROCESSING', to: 'COMPLETED', type: 'orgmodel.resolution.completed', when: 'the effect is proven' },
    {
      from: 'PROCESSING',
      to: 'PENDING',
      type: 'orgmodel.resolution.returned',
      when: 'an attempt failed and another follows, or another choice is made while it runs',
    },
    { from: 'PROCESSING', to: 'FAILED', type: 'orgmodel.resolution.failed', when: 'the last attempt failed' },
    { from: 'COMPLETED', to: 'PENDING', type: RESUBMITTED, when: 'another choice is made for the same issue' },
    { from: 'FAILED', to: 'PENDING', type: RESUBMITTED, when: 'the same or another action is tried' },
  ],
})
