import type { Activation, AudienceReceipt } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { expectedContentRevision, idempotencyKey } from '../input-fields.ts'
import { changed, KEYED, MOVES, outcomes, successOf } from '../mutation.ts'
import { ACTIVATION_ERRORS } from './errors.ts'
import { Persona, personaLoader } from './persona.ts'
import { OrgModelVersion } from './version.ts'

const OrgModelAudienceReceipt = builder.objectRef<AudienceReceipt>('OrgModelAudienceReceipt').implement({
  description: 'How an activation changed whom a persona selects.',
  fields: (t) => ({
    persona: t.field({
      type: Persona,
      nullable: true,
      description: 'The persona.',
      resolve: ({ personaId }, _args, context) => personaLoader(context).load(personaId),
    }),
    countBefore: t.exposeInt('before', { nullable: true, description: 'How many people it selected before.' }),
    countAfter: t.exposeInt('after', {
      nullable: true,
      description: 'How many people it selects now; null when it was archived.',
    }),
  }),
})

const ActivateOrgModelDraftInput = builder.inputType('ActivateOrgModelDraftInput', {
  description: 'The draft to activate.',
  fields: (t) => ({
    expectedContentRevision: expectedContentRevision(t),
    idempotencyKey: idempotencyKey(t),
  }),
})

const ActivateOrgModelDraftSuccess = successOf<Activation>(
  'ActivateOrgModelDraftSuccess',
  'The draft is the active version, and what its resolutions staged is in force.',
  (t) => ({
    version: t.field({
      type: OrgModelVersion,
      description: 'The version that counts from now on.',
      resolve: ({ result }) => result.version,
    }),
    previousVersion: t.field({
      type: OrgModelVersion,
      nullable: true,
      description: 'The version that counted before, archived now.',
      resolve: ({ result }) => result.previousVersion,
    }),
    audiences: t.field({
      type: [OrgModelAudienceReceipt],
      description: 'How the audience of each persona changed, at the moment of activation.',
      resolve: ({ result }) => result.audiences,
    }),
    durationMs: t.int({ description: 'How long the activation took, in milliseconds.', resolve: ({ result }) => result.durationMs }),
  }),
)

builder.mutationField('activateOrgModelDraft', (t) =>
  t.field({
    type: ActivateOrgModelDraftSuccess,
    nullable: true,
    description: 'Makes the open draft the active version, if nothing is in the way at that very moment.',
    args: { input: t.arg({ type: ActivateOrgModelDraftInput, required: true, description: 'What you decided on.' }) },
    errors: outcomes('activateOrgModelDraft', KEYED, MOVES, ACTIVATION_ERRORS),
    resolve: (_root, { input }, context) => {
      const { expectedContentRevision, idempotencyKey } = input
      return changed(context, (call) =>
        context.drafts.activateDraft(call, {
          expectedContentRevision,
          ...(idempotencyKey == null ? {} : { idempotencyKey }),
        }),
      )
    },
  }),
)
