import { attemptsOfJobs, MOST_ATTEMPTS, type JobAttempt } from '../../jobs/index.ts'
import { builder } from '../builder.ts'
import { FailureClass, JobStatus } from '../job-enums.ts'
import { loaderOf } from '../loaders.ts'
import { OrgModelResolution } from './resolution.ts'

const attemptsLoader = loaderOf<string, readonly JobAttempt[]>(({ viewer, database }, jobIds) =>
  attemptsOfJobs(database, viewer.tenantId, jobIds),
)

const OrgModelResolutionAttempt = builder.objectRef<JobAttempt>('OrgModelResolutionAttempt').implement({
  description: 'One attempt to carry out a resolution that ended, or one act on its job while it waited.',
  fields: (t) => ({
    attempt: t.exposeInt('attempt', { description: 'Which attempt, from 1; 0 before the first.' }),
    status: t.expose('to', { type: JobStatus, description: 'Where the job was after it.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it began; null for an act on a job that did not run.',
    }),
    endedAt: t.expose('endedAt', { type: 'DateTime', description: 'When it ended.' }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the next one was planned; null when none was.',
    }),
    failureClass: t.field({
      type: FailureClass,
      nullable: true,
      description: 'Why it failed; null when it did not.',
      resolve: ({ failure }) => failure?.class ?? null,
    }),
    errorCode: t.string({
      nullable: true,
      description: 'Stable code of the failure.',
      resolve: ({ failure }) => failure?.code ?? null,
    }),
    error: t.string({
      nullable: true,
      description: 'What went wrong, safe to show.',
      resolve: ({ failure }) => failure?.message ?? null,
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it was stopped or given back.' }),
  }),
})

builder.prismaObjectFields(OrgModelResolution, (t) => ({
  attempts: t.field({
    type: [OrgModelResolutionAttempt],
    description: `The attempts of the present choice that ended, the oldest first; of more than ${MOST_ATTEMPTS} the newest.`,
    select: { jobId: true },
    resolve: async ({ jobId }, _args, context) =>
      jobId === null ? [] : ((await attemptsLoader(context).load(jobId)) ?? []),
  }),
}))
