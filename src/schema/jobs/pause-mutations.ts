import {
  pauseSchedule,
  pauseType,
  resumeSchedule,
  resumeType,
  runScheduleNow,
  type By,
  type OperatingParts,
} from '../../jobs/operating/index.ts'
import { builder } from '../builder.ts'
import { forOperators } from '../manners.ts'
import { outcomes, successOf } from '../mutation.ts'
import { textOf } from './job-filter.ts'
import { REASON } from './job-mutations.ts'
import { operated } from './operated.ts'

interface Acted {
  /** Of the type or the schedule. */
  readonly name: string
  readonly actId: string
}

type Act = (parts: OperatingParts, name: string, by: By) => Promise<Omit<Acted, 'name'>>

interface Declared {
  readonly act: Act
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

interface Subject {
  /** Name of the input's field and of the success's. */
  readonly field: 'jobType' | 'schedule'
  readonly called: string
}

function declare(mutation: string, { field, called }: Subject, { act, does, done }: Declared): void {
  const Input = builder.inputType(`${capitalized(mutation)}Input`, {
    description: `Which ${called}, and why.`,
    fields: (t) => ({
      name: t.string({ required: true, description: `Name of the ${called}.` }),
      reason: t.string({ required: true, description: REASON }),
    }),
  })
  const Success = successOf<Acted>(`${capitalized(mutation)}Success`, done, (t) => ({
    [field]: t.string({ description: `Name of the ${called}.`, resolve: ({ result }) => result.name }),
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

for (const [mutation, declared] of Object.entries(ON_TYPES))
  declare(mutation, { field: 'jobType', called: 'job type' }, declared)
for (const [mutation, declared] of Object.entries(ON_SCHEDULES))
  declare(mutation, { field: 'schedule', called: 'schedule' }, declared)
