import type { FieldMap, ObjectFieldBuilder } from '@pothos/core'
import {
  pauseSchedule,
  pauseType,
  resumeSchedule,
  resumeType,
  runScheduleNow,
  type By,
  type OperatingParts,
} from '../../jobs/operating/index.ts'
import { builder, type Types } from '../builder.ts'
import { encodeId } from '../id.ts'
import { forOperators } from '../manners.ts'
import { outcomes, successOf, type Changed } from '../mutation.ts'
import { textOf } from './job-filter.ts'
import { REASON } from './job-mutations.ts'
import { operated } from './operated.ts'
import { JobSchedule, scheduleLoader } from './schedules.ts'
import { JobTypeState, typeLoader } from './types.ts'

interface Acted {
  readonly actId: string
  /** Of the job that a firing enqueued. */
  readonly jobId?: string | null
}

type Named = Acted & { readonly name: string }

interface Declared {
  readonly act: (parts: OperatingParts, name: string, by: By) => Promise<Acted>
  readonly does: string
  readonly done: string
}

const ON_TYPES: Readonly<Record<string, Declared>> = {
  pauseJobType: {
    act: pauseType,
    does: 'Lets no more jobs of a type begin, in any process; what runs goes on.',
    done: 'Nothing of the type is begun any more.',
  },
  resumeJobType: {
    act: resumeType,
    does: 'Lets jobs of a paused type begin again.',
    done: 'Jobs of the type are begun again.',
  },
}

const ON_SCHEDULES: Readonly<Record<string, Declared>> = {
  pauseJobSchedule: {
    act: pauseSchedule,
    does: 'Lets a schedule fire no more.',
    done: 'The schedule does not fire any more.',
  },
  resumeJobSchedule: {
    act: resumeSchedule,
    does: 'Lets a paused schedule fire again; what it missed follows its own policy.',
    done: 'The schedule fires again.',
  },
  runJobScheduleNow: {
    act: runScheduleNow,
    does: 'Fires a schedule once, beside its slots.',
    done: 'The schedule has fired.',
  },
}

const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)

type Fields = (t: ObjectFieldBuilder<Types, Changed<Named>>) => FieldMap

/** What an act changed is read anew, as it is after the act. */
const ofType: Fields = (t) => ({
  jobType: t.field({
    type: JobTypeState,
    nullable: true,
    description: 'The type as it is now.',
    resolve: ({ result }, _args, context) => typeLoader(context).load(result.name),
  }),
})

const ofSchedule: Fields = (t) => ({
  schedule: t.field({
    type: JobSchedule,
    nullable: true,
    description: 'The schedule as it is now.',
    resolve: ({ result }, _args, context) => scheduleLoader(context).load(result.name),
  }),
})

const ofFiring: Fields = (t) => ({
  ...ofSchedule(t),
  jobId: t.id({
    nullable: true,
    description: 'Id of the job that the firing enqueued.',
    resolve: ({ result: { jobId } }) => (jobId == null ? null : encodeId('OperatedJob', jobId)),
  }),
})

function declare(mutation: string, called: string, { act, does, done }: Declared, fields: Fields): void {
  const Input = builder.inputType(`${capitalized(mutation)}Input`, {
    description: `Which ${called}, and why.`,
    fields: (t) => ({
      name: t.string({ required: true, description: `Name of the ${called}.` }),
      reason: t.string({ required: true, description: REASON }),
    }),
  })
  const Success = successOf<Named>(`${capitalized(mutation)}Success`, done, (t) => ({
    ...fields(t),
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
      errors: outcomes(mutation),
      resolve: async (_root, { input }, context) => {
        const name = textOf(input.name, ['name'])
        return operated(context, input.reason, async (parts, by) => ({ name, ...(await act(parts, name, by)) }))
      },
    }),
  )
}

for (const [mutation, declared] of Object.entries(ON_TYPES)) declare(mutation, 'job type', declared, ofType)
for (const [mutation, declared] of Object.entries(ON_SCHEDULES))
  declare(mutation, 'schedule', declared, mutation === 'runJobScheduleNow' ? ofFiring : ofSchedule)
