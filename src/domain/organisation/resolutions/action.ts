import { z } from 'zod'
import type { Tx } from '../../../database/index.ts'
import type { ConditionTree } from '../../conditions/index.ts'
import type { ImpactContext } from '../impact/context.ts'
import type { BareIssue } from '../impact/pipeline.ts'
import type { NewStagedEffect } from './staged-effect.ts'

/** IMMEDIATE works at once and must be right under the active model too; STAGED waits for the activation. */
export type Effect = 'IMMEDIATE' | 'STAGED' | 'ACKNOWLEDGE'

/**
 * One way to resolve an issue: what a person must say, and what is done then. Adding an action is one file and
 * one entry in the composition.
 *
 * Laws, each with a test: all writes go through `tx`; running it twice gives the same end; after it the issue is
 * gone and no new blocking one has come; names in the payload are never trusted, only ids; the signal is obeyed.
 */
export interface ResolutionAction<Payload> {
  /** Unique and dotted: `persona.update_filter_value`. */
  readonly actionType: string
  /** What the button says. */
  readonly label: string
  readonly effect: Effect
  /** Something is lost that the draft alone would not lose. */
  readonly destructive: boolean
  /** Bears no other resolution on the same entity (C28). */
  readonly exclusive: boolean
  readonly requiresAffectedEntity: boolean
  readonly payload: z.ZodType<Payload>
  /** A payload that would resolve the issue, or null when only a person can know it. */
  suggest?(issue: BareIssue, situation: Situation): Payload | null | Promise<Payload | null>
  /** What is wrong with this payload for this very issue. Asked at submission and again before execution. */
  check(payload: Payload, issue: BareIssue, context: ImpactContext): readonly PayloadProblem[]
  execute(payload: Payload, execution: Execution): Promise<ExecutionResult>
}

/** An action whose payload type does not matter to whoever holds it. */
// oxlint-disable-next-line no-explicit-any -- a payload goes in and out of the same action
export type AnyResolutionAction = ResolutionAction<any>

export interface Situation {
  readonly context: ImpactContext
  /** People that the filter selects now. */
  countAudience(filter: ConditionTree): Promise<number>
}

export interface Execution extends Situation {
  readonly tx: Tx
  readonly issue: BareIssue
  /** `resolutionId:submissionNo`: the same for every attempt. */
  readonly idempotencyKey: string
  readonly attempt: number
  readonly signal: AbortSignal
}

export type ExecutionResult =
  /** `affected`: how many things the effect reaches; with 0 nothing was resolved (C12). */
  | { readonly kind: 'DONE'; readonly affected: number; readonly effects: readonly NewStagedEffect[] }
  | { readonly kind: 'NOT_APPLICABLE'; readonly code: string; readonly message: string }

export interface PayloadProblem {
  readonly code: 'orgmodel.resolution.payload_invalid' | 'orgmodel.resolution.payload_reference_invalid'
  /** Into the payload. */
  readonly path: readonly (string | number)[]
  readonly message: string
}

export const invalid = (path: PayloadProblem['path'], message: string): PayloadProblem => ({
  code: 'orgmodel.resolution.payload_invalid',
  path,
  message,
})

export const invalidReference = (path: PayloadProblem['path'], message: string): PayloadProblem => ({
  code: 'orgmodel.resolution.payload_reference_invalid',
  path,
  message,
})

/** Fixes the payload's type and gives every action the optional note. Unknown keys are refused (C43). */
export function defineAction<Shape extends z.ZodRawShape>(
  action: Omit<ResolutionAction<z.output<z.ZodObject<Shape>> & { note?: string | undefined }>, 'payload'> & {
    readonly shape: Shape
  },
): ResolutionAction<z.output<z.ZodObject<Shape>> & { note?: string | undefined }> {
  const { shape, ...rest } = action
  const payload = z.strictObject({ ...shape, note: z.string().max(500).optional().describe('Why, for the record.') })
  return { ...rest, payload: payload as never }
}

/** Id of something in the model or the organisation, in its one spelling. */
export const idSchema = z.uuid().transform((id) => id.toLowerCase())

const schemas = new WeakMap<AnyResolutionAction, Readonly<Record<string, unknown>>>()

/** The payload as JSON Schema, so that a form can be drawn without knowing the action. */
export function payloadSchemaOf(action: AnyResolutionAction): Readonly<Record<string, unknown>> {
  let schema = schemas.get(action)
  if (schema === undefined) schemas.set(action, (schema = z.toJSONSchema(action.payload, { io: 'input' })))
  return schema
}
