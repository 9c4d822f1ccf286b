import { resolutionLifecycle, type ResolutionStatus } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionType } from '../connection.ts'
import { lifecycleEnum } from '../lifecycle-enum.ts'
import { keyOf } from '../node-key.ts'

export const OrgModelResolutionStatus = lifecycleEnum(
  'OrgModelResolutionStatus',
  'How far the resolution of an issue is.',
  resolutionLifecycle,
)

export const OrgModelResolution = builder.prismaNode('OrgModelDraftResolution', {
  name: 'OrgModelResolution',
  description:
    'The action that somebody chose for an issue of a draft, carried out in the background. One per issue: another ' +
    'choice takes its place under the same id.',
  id: { resolve: (resolution) => resolution.id },
  select: { id: true },
  findUnique: (id, context) => keyOf(id, context, 'orgmodel.read'),
  fields: (t) => ({
    uuid: t.expose('id', { type: 'UUID', description: 'The id that webhooks and files speak.' }),
    issueKey: t.exposeString('issueKey', { description: 'Identity of the issue in the draft.' }),
    issueCode: t.exposeString('issueCode', { description: 'What kind of issue it is for.' }),
    affectedEntityId: t.exposeString('affectedEntityId', {
      nullable: true,
      description: 'Which thing the issue is about; null for the draft as a whole.',
    }),
    affectedEntityLabel: t.exposeString('affectedLabel', {
      nullable: true,
      description: 'Name of that thing when the action was chosen.',
    }),
    chosenActionType: t.exposeString('chosenActionType', { description: 'The action that was chosen.' }),
    status: t.field({
      type: OrgModelResolutionStatus,
      description: 'How far it is.',
      select: { status: true },
      resolve: ({ status }) => status as ResolutionStatus,
    }),
    version: t.exposeInt('version', {
      description: 'Rises by one with every change of status; its events’ sequence. Pass it as `expectedVersion`.',
    }),
    submissionNo: t.exposeInt('submissionNo', { description: 'Rises by one with every choice, from 1.' }),
    jobUuid: t.expose('jobId', { type: 'UUID', nullable: true, description: 'The job that carries it out.' }),
    attempt: t.exposeInt('attemptNo', { description: 'How many attempts have begun for this choice.' }),
    maxAttempts: t.exposeInt('maxAttempts', { description: 'How many attempts there will be at most.' }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the next attempt is due, between two of them; else null.',
    }),
    isRetrying: t.boolean({
      description: 'An attempt failed and another one will follow.',
      select: { status: true, attemptNo: true },
      resolve: ({ status, attemptNo }) => status === 'PENDING' && attemptNo > 0,
    }),
    lastAttemptError: t.exposeString('lastAttemptError', {
      nullable: true,
      description: 'What went wrong in the last attempt that failed.',
    }),
    scheduledAt: t.expose('scheduledAt', { type: 'DateTime', description: 'When it was chosen.' }),
    executedAt: t.expose('executedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was completed or given up; null before that.',
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why it FAILED; else null.' }),
    errorCode: t.exposeString('errorCode', { nullable: true, description: 'Stable code of that, to decide by.' }),
    submittedBy: t.exposeString('submittedBy', { description: 'Subject of whoever chose it.' }),
  }),
})

export const OrgModelResolutionConnection = connectionType(OrgModelResolution, 'resolutions of a draft')
