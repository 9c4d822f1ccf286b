import type { Api, Answer } from './api.ts'
import type { Json } from './json.ts'
import { sceneIn, succeeded, type Scene } from './scene.ts'

export const CREATE_PERSONA = /* GraphQL */ `
  mutation Create($input: CreatePersonaInput!) {
    createPersona(input: $input) {
      __typename
      ... on CreatePersonaSuccess {
        eventCursor
        persona {
          id
          uuid
          name
          description
          revision
        }
      }
      ... on UserError {
        code
        message
        path
      }
      ... on PersonaFilterInvalidError {
        problems {
          path
          code
        }
      }
    }
  }
`

/** A tenant and the ways in which most tests use it. */
export interface Personas {
  readonly scene: Scene
  ask(source: string, variables?: Record<string, unknown>): Promise<Answer>
  /** A filter that every person of the scene fits. */
  everybody(): Json
  /** Makes a persona and gives it back. */
  persona(name: string): Promise<Json>
}

export async function personasIn(api: Api, tenant: string): Promise<Personas> {
  const scene = await sceneIn(api, tenant)
  const ask: Personas['ask'] = (source, variables) => api.ask(scene.as, source, variables)
  const everybody = () => ({ condition: { attributeId: scene.attribute.uuid, comparison: 'IS_SET' } })
  const persona = async (name: string): Promise<Json> =>
    succeeded(await ask(CREATE_PERSONA, { input: { name, description: 'first', filter: everybody() } }))['persona']
  return { scene, ask, everybody, persona }
}

export const codeOf = (answer: Answer): unknown => answer.errors?.[0]?.extensions['code']
