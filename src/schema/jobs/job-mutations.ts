import { actOnJob, JobActRefusedError, type ActedJob, type JobAct } from '../../jobs/operating/index.ts'
import { builder } from '../builder.ts'
import { UserErrorInterface } from '../errors/user-errors.ts'
import { decodeId, idArg } from '../id.ts'
import { forOperators } from '../manners.ts'
import { outcomes, successOf, type ErrorClass } from '../mutation.ts'
import { OperatedJob } from './job.ts'
import { JobStatus } from '../job-enums.ts'
import { operated } from './operated.ts'

export const REASON =
  'Why, in words for whoever reads the audit: 1 to 500 characters, not blank, nothing personal. Kept for ever.'

builder.objectType(JobActRefusedError, {
  name: 'JobActRefusedError',
  description: 'The job cannot be acted on so. Nothing was changed; `message` says what to do instead.',
  interfaces: [UserErrorInterface],
  fields: (t) => ({
    status: t.expose('status', { type: JobStatus, description: 'The status that the job has now.' }),
  }),
})

export const REFUSALS: readonly ErrorClass[] = [JobActRefusedError]

interface Declared {
  readonly act: JobAct
  readonly does: string
  readonly done: string
}

const ACTS: Readonly<Record<string, Declared>> = {
  retryJob: {
    act: 'RETRY',
    does: 'Gives a failed job a new window of attempts, due now, when its domain still wants what it is for.',
    done: 'The job will be tried again.',
  },
  runJobNow: { act: 'RUN_NOW', does: 'Makes a waiting job due now.', done: 'The job is due.' },
  cancelJob: {
    act: 'CANCEL',
    does: 'Cancels a waiting job at once; asks a running one to stop, which ends by who is first.',
    done: 'The job is cancelled, or was asked to stop: `job.status` and `job.cancelRequestedAt` tell which.',
  },
  markJobHandled: {
    act: 'HANDLE',
    does: 'Says of a failed job that somebody dealt with it outside of the engine. It becomes CANCELLED.',
    done: 'The job counts as handled.',
  },
  holdJob: {
    act: 'HOLD',
    does: 'Puts a waiting job aside until `releaseJob`.',
    done: 'The job is held: it is not due.',
  },
  releaseJob: {
    act: 'RELEASE',
    does: 'Takes up again a job that was put aside, with the due time that it had.',
    done: 'The job waits for its time again.',
  },
}

const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)

for (const [mutation, { act, does, done }] of Object.entries(ACTS)) {
  const name = capitalized(mutation)
  const Input = builder.inputType(`${name}Input`, {
    description: 'Which job, and why.',
    fields: (t) => ({
      jobId: t.id({ ...idArg('OperatedJob', 'Id of the job.'), required: true }),
      reason: t.string({ required: true, description: REASON }),
    }),
  })
  const Success = successOf<ActedJob>(`${name}Success`, done, (t) => ({
    job: t.field({ type: OperatedJob, description: 'The job after it.', resolve: ({ result }) => result.job }),
    actUuid: t.field({
      type: 'UUID',
      description: 'The entry in the audit, which `operatorActs` shows.',
      resolve: ({ result }) => result.actId,
    }),
  }))
  builder.mutationField(mutation, (t) =>
    t.field({
      type: Success,
      nullable: true,
      ...forOperators('jobs.operate'),
      description: `${does} Audited. For operators.`,
      args: { input: t.arg({ type: Input, required: true, description: 'Which, and why.' }) },
      errors: outcomes(mutation, REFUSALS),
      resolve: (_root, { input }, context) => {
        const jobId = decodeId('OperatedJob', input.jobId, ['input', 'jobId'])
        return operated(context, input.reason, (parts, by) => actOnJob(parts, act, jobId, by))
      },
    }),
  )
}
