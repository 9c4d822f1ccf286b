import {
  holdDueJobs,
  MOST_JOBS_IN_BULK,
  previewBulk,
  runBulk,
  type BulkPreview,
  type BulkResult,
  type JobAct as Act,
} from '../../jobs/operating/index.ts'
import { ValidationError } from '../../errors/index.ts'
import type { ObjectFieldBuilder } from '@pothos/core'
import { builder, type Types } from '../builder.ts'
import { describedEnum } from '../lifecycle-enum.ts'
import { forOperators } from '../manners.ts'
import { outcomes, successOf, type Changed } from '../mutation.ts'
import { JobStatus } from '../job-enums.ts'
import { jobFilterOf, OperatedJobsFilter } from './job-filter.ts'
import { REASON } from './job-mutations.ts'
import { operated } from './operated.ts'

export const JobAct = describedEnum<Act>('JobAct', 'What operators can do to jobs.', {
  RETRY: 'Give failed jobs a new window of attempts, where their domain still wants it.',
  RUN_NOW: 'Make waiting jobs due now.',
  CANCEL: 'Cancel waiting jobs and ask running ones to stop.',
  HANDLE: 'Say of failed jobs that somebody dealt with them.',
  HOLD: 'Put waiting jobs aside.',
  RELEASE: 'Take up again what was put aside.',
})

type Counted<Key extends string> = { readonly jobs: number } & { readonly [Name in Key]: string }

const counted = <Key extends string>(name: string, key: Key, about: string, description: string) =>
  builder.objectRef<Counted<Key>>(name).implement({
    description,
    fields: (t) => ({
      [key]: t.string({ description: about, resolve: (row) => row[key] }),
      jobCount: t.int({ description: 'How many jobs.', resolve: (row) => row.jobs }),
    }),
  })

const JobsOfKind = counted('JobsOfKind', 'type', 'The job type.', 'How many jobs of one type a bulk act would touch.')
const RefusedJobs = counted(
  'RefusedJobs',
  'code',
  'Why, as a stable code.',
  'How many jobs were refused for one cause.',
)
const JobsInStatus = builder.objectRef<BulkPreview['refused'][number]>('JobsInStatus').implement({
  description: 'How many jobs are in one status.',
  fields: (t) => ({
    status: t.field({ type: JobStatus, description: 'The status.', resolve: ({ status }) => status as never }),
    jobCount: t.exposeInt('jobs', { description: 'How many jobs.' }),
  }),
})

const BulkJobActPreview = builder.objectRef<BulkPreview>('BulkJobActPreview').implement({
  description: 'What a bulk act would do if it were done now. Nothing was done.',
  fields: (t) => ({
    jobCount: t.exposeInt('jobs', {
      description: `How many jobs fit and are in a status that allows it; counted up to ${MOST_JOBS_IN_BULK + 1}.`,
    }),
    isBeyondLimit: t.exposeBoolean('beyondLimit', {
      description: `There are more than the ${MOST_JOBS_IN_BULK} that one bulk act touches; do another for the rest.`,
    }),
    kinds: t.expose('perType', { type: [JobsOfKind], description: 'How many of which type.' }),
    sampleUuids: t.expose('sample', { type: ['UUID'], description: 'The first 20 of them, the oldest first.' }),
    refused: t.expose('refused', {
      type: [JobsInStatus],
      description: 'How many fit the filter but are in a status that does not allow it.',
    }),
    unknownTypes: t.expose('unknownTypes', {
      type: ['String'],
      description: 'Types among them that this release does not know: their jobs would be refused.',
    }),
  }),
})

/** What every bulk act tells of itself. */
export const bulkFields = (t: ObjectFieldBuilder<Types, Changed<BulkResult>>) => ({
  bulkUuid: t.field({
    type: 'UUID',
    description: 'Its entry in the audit: the `partOfUuid` of every single job’s.',
    resolve: ({ result }) => result.bulkId,
  }),
  selectedCount: t.int({
    description: 'How many jobs it selected: acted, refused and gone together.',
    resolve: ({ result }) => result.selected,
  }),
  actedCount: t.int({ description: 'How many it was done to.', resolve: ({ result }) => result.acted }),
  refusedCount: t.int({ description: 'How many refused it.', resolve: ({ result }) => result.refused }),
  refusals: t.field({
    type: [RefusedJobs],
    description: 'Why those refused it.',
    resolve: ({ result }) => result.refusals,
  }),
  goneCount: t.int({
    description: 'How many had changed their status, or were gone, by the time it came to them.',
    resolve: ({ result }) => result.gone,
  }),
  hasMore: t.boolean({
    description: `There were more than ${MOST_JOBS_IN_BULK}: do another one, with another \`bulkUuid\`.`,
    resolve: ({ result }) => result.more,
  }),
})

export const BULK_UUID =
  'A UUID of your own. The same one again goes on where it stopped, or gives the same answer, and does nothing twice.'

const PerformBulkJobActInput = builder.inputType('PerformBulkJobActInput', {
  description: 'One act on every job that fits.',
  fields: (t) => ({
    bulkUuid: t.field({ type: 'UUID', required: true, description: BULK_UUID }),
    act: t.field({ type: JobAct, required: true, description: 'What to do.' }),
    filter: t.field({
      type: OperatedJobsFilter,
      required: true,
      description: 'To which jobs. It must narrow: one that is empty is refused.',
    }),
    expectedCount: t.int({
      description: '`jobCount` of the preview you decided on. When there are more by now, nothing is done.',
    }),
    reason: t.string({ required: true, description: REASON }),
  }),
})
const PerformBulkJobActSuccess = successOf<BulkResult>(
  'PerformBulkJobActSuccess',
  'It was done to what could be acted on; the audit names every job.',
  bulkFields,
)

const HoldDueJobsInput = builder.inputType('HoldDueJobsInput', {
  description: 'What to put aside after the database was restored.',
  fields: (t) => ({
    bulkUuid: t.field({ type: 'UUID', required: true, description: BULK_UUID }),
    olderThanMs: t.int({
      required: true,
      description: 'Jobs that have been due for longer than so many milliseconds.',
    }),
    reason: t.string({ required: true, description: REASON }),
  }),
})
const HoldDueJobsSuccess = successOf<BulkResult>(
  'HoldDueJobsSuccess',
  'They are held. `performBulkJobAct` with RELEASE lets them go on.',
  bulkFields,
)

builder.queryField('previewBulkJobAct', (t) =>
  t.field({
    type: BulkJobActPreview,
    ...forOperators('jobs.read'),
    description: 'What `performBulkJobAct` would do, without doing it. For operators.',
    complexity: 20,
    args: {
      act: t.arg({ type: JobAct, required: true, description: 'What would be done.' }),
      filter: t.arg({ type: OperatedJobsFilter, required: true, description: 'To which jobs.' }),
    },
    resolve: (_root, { act, filter }, { database, jobs }) =>
      previewBulk({ database, registry: jobs.registry }, jobFilterOf(filter, ['filter']), act),
  }),
)

builder.mutationFields((t) => ({
  performBulkJobAct: t.field({
    type: PerformBulkJobActSuccess,
    nullable: true,
    ...forOperators('jobs.operate'),
    description:
      `Does one thing to every job that fits, the oldest first, at most ${MOST_JOBS_IN_BULK}. Each job decides for ` +
      'itself, as when it is acted on alone. Audited as a whole and per job. For operators.',
    args: { input: t.arg({ type: PerformBulkJobActInput, required: true, description: 'What, to which, and why.' }) },
    errors: outcomes('performBulkJobAct'),
    resolve: async (_root, { input }, context) => {
      const { bulkUuid: bulkId, act, expectedCount, reason } = input
      if (expectedCount != null && expectedCount < 0)
        throw new ValidationError('"expectedCount" cannot be negative.', { path: ['expectedCount'] })
      const filter = jobFilterOf(input.filter, ['filter'])
      const request = { bulkId, act, filter, ...(expectedCount == null ? {} : { expectedJobs: expectedCount }) }
      return operated(context, reason, (parts, by) => runBulk(parts, request, by))
    },
  }),
  holdDueJobs: t.field({
    type: HoldDueJobsSuccess,
    nullable: true,
    ...forOperators('jobs.operate'),
    description:
      'Puts aside what has been due for long, so that not everything runs at once after a restore. Audited. For operators.',
    args: { input: t.arg({ type: HoldDueJobsInput, required: true, description: 'What, and why.' }) },
    errors: outcomes('holdDueJobs'),
    resolve: async (_root, { input: { bulkUuid: bulkId, olderThanMs, reason } }, context) => {
      if (olderThanMs < 0) throw new ValidationError('"olderThanMs" cannot be negative.', { path: ['olderThanMs'] })
      return operated(context, reason, (parts, by) => holdDueJobs(parts, { bulkId, olderThanMs }, by))
    },
  }),
}))
