import type { Answer, Api, Asking } from './api.ts'
import type { Json } from './json.ts'

/** A tenant with everything in it that has an id. */
export interface Scene {
  readonly as: Asking
  readonly activeId: string
  readonly draftId: string
  readonly contentRevision: number
  readonly attribute: { readonly uuid: string }
  readonly value: { readonly uuid: string }
  readonly persona: { readonly id: string; readonly uuid: string; readonly revision: number }
  readonly personId: string
  readonly resolutionId: string
  readonly tenantNodeId: string
}

const IMPORT = /* GraphQL */ `
  mutation Import($input: ImportOrgModelInput!) {
    importOrgModel(input: $input) {
      __typename
      ... on ImportOrgModelSuccess {
        draft {
          contentRevision
        }
      }
      ... on UserError {
        message
      }
    }
  }
`
const ACTIVATE = /* GraphQL */ `
  mutation Activate($revision: Int!) {
    activateOrgModelDraft(input: { expectedContentRevision: $revision }) {
      __typename
      ... on ActivateOrgModelDraftSuccess {
        version {
          id
          attributes {
            nodes {
              uuid
              key
              values {
                nodes {
                  uuid
                  key
                }
              }
            }
          }
        }
      }
      ... on UserError {
        message
      }
    }
  }
`
const PEOPLE = /* GraphQL */ `
  mutation People($people: [PersonInput!]!) {
    importPeople(input: { people: $people }) {
      __typename
      ... on UserError {
        message
      }
    }
  }
`
const PERSONA = /* GraphQL */ `
  mutation Persona($input: CreatePersonaInput!) {
    createPersona(input: $input) {
      __typename
      ... on CreatePersonaSuccess {
        persona {
          id
          uuid
          revision
        }
      }
      ... on UserError {
        message
      }
    }
  }
`
const DRAFT = /* GraphQL */ `
  mutation Draft {
    createOrgModelDraft(input: { name: "Fewer departments" }) {
      __typename
      ... on CreateOrgModelDraftSuccess {
        draft {
          id
          contentRevision
        }
      }
      ... on UserError {
        message
      }
    }
  }
`
const REMOVE = /* GraphQL */ `
  mutation Remove($valueId: UUID!, $revision: Int!) {
    removeOrgModelValue(input: { valueId: $valueId, expectedContentRevision: $revision }) {
      __typename
      ... on RemoveOrgModelValueSuccess {
        draft {
          contentRevision
        }
      }
      ... on UserError {
        message
      }
    }
  }
`
const EVALUATE = /* GraphQL */ `
  mutation Evaluate {
    evaluateOrgModelDraft {
      __typename
      ... on EvaluateOrgModelDraftSuccess {
        evaluation {
          issues {
            nodes {
              code
              affectedEntityId
              availableActions {
                actionType
                defaultPayload
              }
            }
          }
        }
      }
      ... on UserError {
        message
      }
    }
  }
`
const SUBMIT = /* GraphQL */ `
  mutation Submit($resolutions: [OrgModelResolutionInput!]!) {
    submitOrgModelResolutions(input: { resolutions: $resolutions }) {
      __typename
      ... on SubmitOrgModelResolutionsSuccess {
        resolutions {
          id
        }
      }
      ... on UserError {
        message
      }
      ... on OrgModelResolutionsInvalidError {
        items {
          message
        }
      }
    }
  }
`
const PERSON = /* GraphQL */ `
  query Person {
    person(externalId: "1") {
      id
    }
  }
`

/** Fills a new tenant through the API itself: a model, people, a persona, a draft, an issue and its resolution. */
export async function sceneIn(api: Pick<Api, 'ask' | 'tenant'>, name: string): Promise<Scene> {
  const as = await api.tenant(name)
  const done = async (source: string, variables?: Record<string, unknown>) =>
    succeeded(await api.ask(as, source, variables))
  const values = ['Sales', 'Support', 'Research'].map((key) => ({ key }))
  const imported = await done(IMPORT, {
    input: {
      attributes: [
        { key: 'department', label: 'Department', dataType: 'SINGLE_SELECT', values },
        { key: 'age', label: 'Age', dataType: 'NUMBER' },
      ],
    },
  })
  const active = (await done(ACTIVATE, { revision: imported.draft.contentRevision })).version
  const [attribute] = active.attributes.nodes
  const [sales, support] = attribute.values.nodes
  const people = Array.from({ length: 12 }, (_, i) => ({
    externalId: String(i + 1),
    values: { department: i % 2 === 0 ? 'Sales' : 'Support', age: 20 + i },
  }))
  await done(PEOPLE, { people })
  const filter = {
    and: [
      { condition: { attributeId: attribute.uuid, comparison: 'IN', valueIds: [sales.uuid, support.uuid] } },
      { condition: { attributeId: active.attributes.nodes[1].uuid, comparison: 'LESS_THAN', literal: { number: 99 } } },
    ],
  }
  const { persona } = await done(PERSONA, { input: { name: 'Front office', filter } })
  const draft = (await done(DRAFT)).draft
  const removed = await done(REMOVE, { valueId: support.uuid, revision: draft.contentRevision })
  const issues = (await done(EVALUATE)).evaluation.issues.nodes as Record<string, Json>[]
  const issue = issues.find(({ code }) => code === 'persona.value_in_use')!
  const action = issue['availableActions'].find(
    ({ actionType }: { actionType: string }) => actionType === 'persona.remove_value',
  )
  const submitted = await done(SUBMIT, {
    resolutions: [
      {
        issueCode: issue['code'],
        affectedEntityId: issue['affectedEntityId'],
        chosenActionType: action.actionType,
        actionPayload: action.defaultPayload,
      },
    ],
  })
  const found = await api.ask(as, PERSON)
  return {
    as,
    activeId: active.id,
    draftId: draft.id,
    contentRevision: removed.draft.contentRevision,
    attribute,
    value: sales,
    persona,
    personId: found.data?.['person'].id,
    resolutionId: submitted.resolutions[0].id,
    tenantNodeId: Buffer.concat([Buffer.from('ten'), Buffer.from(as.tenantId!.replaceAll('-', ''), 'hex')]).toString(
      'base64url',
    ),
  }
}

/** The success of the one mutation in an answer; a test that arranges must not go on without it. */
export function succeeded(answer: Answer): Record<string, Json> {
  const [result] = Object.values(answer.data ?? {}) as Record<string, Json>[]
  if (answer.errors !== undefined || result === undefined || !String(result['__typename']).endsWith('Success')) {
    throw new Error(`The mutation did not succeed: ${JSON.stringify(answer)}`)
  }
  return result
}
