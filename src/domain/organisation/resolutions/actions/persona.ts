import { conditionsOf, type Condition } from '../../../conditions/index.ts'
import type { ImpactContext } from '../../impact/context.ts'
import type { IssueReference } from '../../impact/issue.ts'
import type { BareIssue } from '../../impact/pipeline.ts'
import type { Persona } from '../../personas/persona.ts'
import type { ExecutionResult } from '../action.ts'

/** The persona that an issue is about. */
export function personaOf(issue: BareIssue, context: ImpactContext): Persona | undefined {
  return context.personas.find(({ id }) => id === issue.entityId)
}

export interface BrokenCondition {
  readonly path: string
  readonly condition: Condition
  readonly references: readonly IssueReference[]
}

/** The conditions of the persona that hold a reference of the issue, and which. */
export function brokenConditions(issue: BareIssue, persona: Persona): BrokenCondition[] {
  return conditionsOf(persona.filter).flatMap(({ condition, path }) => {
    const references = issue.references.filter((reference) => reference.path.startsWith(`${path}/`))
    return references.length === 0 ? [] : [{ path, condition, references }]
  })
}

export const valuesOf = (condition: Condition): readonly string[] => ('values' in condition ? condition.values : [])

/** The choice was made for an audience of this size; another one is another choice. */
export const audienceHasChanged = (expected: number, now: number): ExecutionResult | null =>
  expected === now
    ? null
    : {
        kind: 'NOT_APPLICABLE',
        code: 'orgmodel.resolution.audience_changed',
        message: `The audience would have ${now} people, not the ${expected} that were accepted. Look at it again and resubmit.`,
      }
