import type { LogEvent } from '../../events/index.ts'
import { MailChanged } from '../mail-event.ts'
import { keyOf } from '../node-key.ts'
import { DomainEvent, streamType, type EventItem } from '../stream.ts'
import { OrgModelResolutionStatus } from './resolution.ts'
import { OrgModelVersionStatus } from './version.ts'

/** What an event's `data` holds under this name. Events are written by this system only, in a shape per type. */
const told = <T>(event: LogEvent, name: string): T | null => (event.data[name] as T | undefined) ?? null

const OrgModelVersionChanged = streamType<EventItem>('OrgModelVersionChanged', {
  description: 'A version of the organisation model was made, edited, activated, archived or discarded.',
  interfaces: [DomainEvent],
  fields: (t) => ({
    status: t.field({
      type: OrgModelVersionStatus,
      description: 'The status it has since.',
      resolve: ({ event }) => event.to as typeof OrgModelVersionStatus.$inferType,
    }),
    previousStatus: t.field({
      type: OrgModelVersionStatus,
      nullable: true,
      description: 'The status it had; null when it is new.',
      resolve: ({ event }) => event.from as typeof OrgModelVersionStatus.$inferType | null,
    }),
    contentRevision: t.int({
      nullable: true,
      description: 'Its `contentRevision` since, when the event was an edit.',
      resolve: ({ event }) => told<number>(event, 'contentRevision'),
    }),
    version: t.prismaField({
      type: 'OrgModelVersion',
      nullable: true,
      description: 'The version as it is when the event is delivered, which may be later than the event.',
      resolve: (query, { event }, _args, context) =>
        context
          .prisma()
          .orgModelVersion.findUnique({ ...query, where: keyOf(event.subjectId, context, 'orgmodel.read') }),
    }),
  }),
})

const OrgModelResolutionChanged = streamType<EventItem>('OrgModelResolutionChanged', {
  description: 'A resolution changed its status. What it shows of itself is of the moment of the event.',
  interfaces: [DomainEvent],
  fields: (t) => ({
    status: t.field({
      type: OrgModelResolutionStatus,
      description: 'The status it has since.',
      resolve: ({ event }) => event.to as typeof OrgModelResolutionStatus.$inferType,
    }),
    previousStatus: t.field({
      type: OrgModelResolutionStatus,
      nullable: true,
      description: 'The status it had; null when it is new.',
      resolve: ({ event }) => event.from as typeof OrgModelResolutionStatus.$inferType | null,
    }),
    issueKey: t.string({
      nullable: true,
      description: 'Identity of the issue in the draft.',
      resolve: ({ event }) => told<string>(event, 'issueKey'),
    }),
    affectedEntityLabel: t.string({
      nullable: true,
      description: 'Name of the thing that the issue is about.',
      resolve: ({ event }) => told<string>(event, 'affectedLabel'),
    }),
    chosenActionType: t.string({
      nullable: true,
      description: 'The action that was chosen.',
      resolve: ({ event }) => told<string>(event, 'actionType'),
    }),
    submissionNo: t.int({
      nullable: true,
      description: 'Which choice for the issue it is, from 1.',
      resolve: ({ event }) => told<number>(event, 'submissionNo'),
    }),
    attempt: t.int({
      nullable: true,
      description: 'How many attempts have begun for this choice.',
      resolve: ({ event }) => told<number>(event, 'attempt'),
    }),
    maxAttempts: t.int({
      nullable: true,
      description: 'How many attempts there will be at most.',
      resolve: ({ event }) => told<number>(event, 'maxAttempts'),
    }),
    nextAttemptAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the next attempt is due, between two of them.',
      resolve: ({ event }) => {
        const at = told<string>(event, 'nextAttemptAt')
        return at === null ? null : new Date(at)
      },
    }),
    errorCode: t.string({
      nullable: true,
      description: 'Stable code of what went wrong in the attempt.',
      resolve: ({ event }) => told<string>(event, 'errorCode'),
    }),
    error: t.string({
      nullable: true,
      description: 'What went wrong in the attempt.',
      resolve: ({ event }) => told<string>(event, 'error'),
    }),
    resolution: t.prismaField({
      type: 'OrgModelDraftResolution',
      nullable: true,
      description: 'The resolution as it is when the event is delivered, which may be later than the event.',
      resolve: (query, { event }, _args, context) =>
        context
          .prisma()
          .orgModelDraftResolution.findUnique({ ...query, where: keyOf(event.subjectId, context, 'orgmodel.read') }),
    }),
  }),
})

const PersonaChanged = streamType<EventItem>('PersonaChanged', {
  description: 'A persona was made, changed or archived.',
  interfaces: [DomainEvent],
  fields: (t) => ({
    name: t.string({
      nullable: true,
      description: 'What it is called since.',
      resolve: ({ event }) => told<string>(event, 'name'),
    }),
    persona: t.prismaField({
      type: 'Persona',
      nullable: true,
      description: 'The persona as it is when the event is delivered, which may be later than the event.',
      resolve: (query, { event }, _args, context) =>
        context.prisma().persona.findUnique({ ...query, where: keyOf(event.subjectId, context, 'orgmodel.read') }),
    }),
  }),
})

const PeopleChanged = streamType<EventItem>('PeopleChanged', {
  description: 'People were written or erased: how many, never who.',
  interfaces: [DomainEvent],
  fields: () => ({}),
})

/** The kinds of subjects in the log and the types that tell of them. A kind without a type is in no stream. */
export const EVENT_TYPES = {
  org_model_version: OrgModelVersionChanged,
  org_model_draft_resolution: OrgModelResolutionChanged,
  persona: PersonaChanged,
  people: PeopleChanged,
  mail: MailChanged,
} as const
