import {
  AddOrgModelAttributeDocument,
  AddOrgModelValueDocument,
  CreateOrgModelDraftDocument,
  EvaluateOrgModelDraftDocument,
  OrgModelDraftDocument,
  RemoveOrgModelAttributeDocument,
  RemoveOrgModelValueDocument,
  SubmitOrgModelResolutionsDocument,
  UpdateOrgModelAttributeDocument,
  unwrap,
  type IssueFieldsFragment,
  type OrgModelResolutionInput,
  type RegieClient,
} from '../../client/src/index.ts'
import type { Model } from './organisation.ts'

/** The value that leaves the model, and the one that takes its place. */
export const LEAVING_VALUE = { attribute: 'BusinessTravel', from: 'Travel_Frequently', to: 'Travel_Rarely' } as const
/** The attribute that leaves the model. */
export const LEAVING_ATTRIBUTE = 'OverTime'

/** Opens a draft: a value leaves, an attribute leaves, one gets another label and one is new. */
export async function openDraft(client: RegieClient, model: Model): Promise<{ contentRevision: number }> {
  const opened = unwrap(
    (await client.mutate(CreateOrgModelDraftDocument, { input: { name: 'Travel and place of work' } }))
      .createOrgModelDraft,
  )
  let revision = opened.draft.contentRevision
  const expected = () => ({ expectedContentRevision: revision })

  const valueId = model.value(LEAVING_VALUE.attribute, LEAVING_VALUE.from)
  const withoutValue = await client.mutate(RemoveOrgModelValueDocument, { input: { ...expected(), valueId } })
  revision = unwrap(withoutValue.removeOrgModelValue).draft.contentRevision

  const overTime = { ...expected(), attributeId: model.attribute(LEAVING_ATTRIBUTE) }
  const withoutAttribute = await client.mutate(RemoveOrgModelAttributeDocument, { input: overTime })
  revision = unwrap(withoutAttribute.removeOrgModelAttribute).draft.contentRevision

  const department = { ...expected(), attributeId: model.attribute('Department'), label: 'Business unit' }
  const relabelled = await client.mutate(UpdateOrgModelAttributeDocument, { input: department })
  revision = unwrap(relabelled.updateOrgModelAttribute).draft.contentRevision

  const place = { ...expected(), key: 'work_place', label: 'Place of work', dataType: 'SINGLE_SELECT' as const }
  const added = unwrap((await client.mutate(AddOrgModelAttributeDocument, { input: place })).addOrgModelAttribute)
  revision = added.draft.contentRevision
  for (const label of ['Office', 'Home', 'Both']) {
    const input = { ...expected(), attributeId: added.attribute.uuid, key: label.toLowerCase(), label }
    revision = unwrap((await client.mutate(AddOrgModelValueDocument, { input })).addOrgModelValue).draft.contentRevision
  }
  return { contentRevision: revision }
}

/** What stands in the way now, and whether the draft may be activated. */
export async function evaluate(client: RegieClient) {
  const { evaluation, activationCheck, eventCursor } = unwrap(
    (await client.mutate(EvaluateOrgModelDraftDocument, { first: 50 })).evaluateOrgModelDraft,
  )
  return { issues: evaluation.issues.nodes, evaluation, activationCheck, eventCursor }
}

/** May the draft be activated, and if not, why. */
export async function activationCheck(client: RegieClient) {
  const { orgModelDraft } = await client.query(OrgModelDraftDocument, {})
  if (orgModelDraft?.activationCheck == null) throw new Error('There is no open draft to ask about.')
  return orgModelDraft.activationCheck
}

/**
 * The action a person would choose for the issue: the people who travelled frequently travel rarely from now on,
 * what they held of the attribute is archived, and conditions on it are removed. Payloads are the offered ones;
 * only where Regie cannot know the answer (which value takes the place of another) is one filled in.
 */
export function choose(issue: IssueFieldsFragment, model: Model): OrgModelResolutionInput {
  const from = model.value(LEAVING_VALUE.attribute, LEAVING_VALUE.from)
  const to = model.value(LEAVING_VALUE.attribute, LEAVING_VALUE.to)
  const offered = (actionType: string): unknown => {
    const action = issue.availableActions.find((candidate) => candidate.actionType === actionType)
    if (action === undefined) throw new Error(`The issue ${issue.key} does not offer ${actionType}.`)
    return action.defaultPayload
  }
  const resolution = (chosenActionType: string, actionPayload: unknown): OrgModelResolutionInput => ({
    issueCode: issue.code,
    affectedEntityId: issue.affectedEntityId,
    chosenActionType,
    actionPayload,
  })
  switch (issue.code) {
    case 'persona.attribute_in_use':
      return resolution('persona.remove_condition', offered('persona.remove_condition'))
    case 'persona.value_in_use':
      return resolution('persona.replace_value', { mapping: [{ from, to: [to] }] })
    case 'employee.values_orphaned':
      return issue.affectedEntityId === from
        ? resolution('employee.migrate_values', { mapping: [{ from, to }], unmapped: 'block' })
        : resolution('employee.archive_values', offered('employee.archive_values'))
    default:
      throw new Error(`The demo knows no answer to ${issue.key}: ${issue.message}`)
  }
}

export async function submit(client: RegieClient, resolutions: readonly OrgModelResolutionInput[]) {
  const input = { resolutions: [...resolutions] }
  return unwrap((await client.mutate(SubmitOrgModelResolutionsDocument, { input })).submitOrgModelResolutions)
}
