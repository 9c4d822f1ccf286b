import { statement, type Tx } from '../../../database/index.ts'
import { ConflictError } from '../../../errors/index.ts'
import { transition, type Act } from '../../../transitions/index.ts'
import { bumpDownstream, bumpPeople } from '../clock.ts'
import { newId } from '../ids.ts'
import type { Compared } from '../impact/load-context.ts'
import { versionLifecycle } from '../lifecycles.ts'
import { contentHashOf } from '../model/canonical.ts'
import { loadModels } from '../model/load.ts'
import type { ModelSnapshot } from '../model/model.ts'
import { netChanges } from '../model/net-change.ts'
import { validityOf, type Persona } from '../personas/persona.ts'
import { personasInUse } from '../personas/read.ts'
import { lockPersona, writePersona } from '../personas/write.ts'
import { HOLDINGS } from '../resolutions/holdings-target.ts'
import type { StagedEffect } from '../resolutions/staged-effect.ts'
import { keepActivation, type Activation } from './activation.ts'
import { applyEffects, dropUnapplied, markApplied } from './apply-effects.ts'
import { audiences, receipt } from './audience-receipt.ts'

interface Request {
  readonly evaluationId: string
  readonly idempotencyKey: string | null
  /** `performance.now()` when the activation began. */
  readonly started: number
}

/**
 * The switch itself, once it is decided: archive, activate, apply, prove, file. The caller holds the versions, the
 * targets and the clock.
 */
export async function switchVersions(
  tx: Tx,
  { active, draft }: Compared,
  effects: readonly StagedEffect[],
  act: Act,
  { evaluationId, idempotencyKey, started }: Request,
): Promise<Activation> {
  const models = await loadModels(tx, [active.id, draft.id])
  const [before, after] = [models.get(active.id)!, models.get(draft.id)!]
  const changes = netChanges(before, after)
  const personasBefore = await personasInUse(tx)
  const audiencesBefore = await audiences(tx, personasBefore, before)
  const activationId = newId()
  const at = await databaseClock(tx)

  // Archive first: a partial unique index allows one ACTIVE version at every moment (V7).
  await transition(tx, versionLifecycle, {
    id: active.id,
    to: 'ARCHIVED',
    act,
    data: { number: active.number, successorId: draft.id },
    set: { archived_at: at },
  })
  await transition(tx, versionLifecycle, {
    id: draft.id,
    to: 'ACTIVE',
    act,
    data: { number: draft.number, previousVersionId: active.id, activationId, changes: changes.length },
    set: { activated_by: act.actor, activated_at: at, content_hash: contentHashOf(after) },
  })
  const applied = await applyEffects(tx, effects, { versionId: draft.id, model: after, act })
  await judgeAnew(tx, personasBefore, after, act)
  const activation = await keepActivation(tx, {
    id: activationId,
    versionId: draft.id,
    previousVersionId: active.id,
    evaluationId,
    requestedBy: act.actor,
    idempotencyKey,
    changesSummary: changes.map(({ kind, label }) => ({ kind, label })),
    audienceReceipt: receipt(audiencesBefore, await audiences(tx, await personasInUse(tx), after)),
    durationMs: Math.round(performance.now() - started),
  })
  await markApplied(tx, activationId, applied)
  await dropUnapplied(tx, draft.id)
  await bumpDownstream(tx)
  if (effects.some(({ targetKind }) => targetKind === HOLDINGS)) await bumpPeople(tx)
  return activation
}

/**
 * Every persona under the new model. Not an evaluation but the proof that there is no hole in them: one that could
 * be evaluated before and cannot now undoes everything. One that was broken may be whole again.
 */
async function judgeAnew(tx: Tx, before: readonly Persona[], model: ModelSnapshot, act: Act): Promise<void> {
  const valid = new Set(before.filter(({ validity }) => validity === 'VALID').map(({ id }) => id))
  const broken: string[] = []
  for (const persona of await personasInUse(tx)) {
    const { validity } = validityOf(persona, model)
    if (validity === 'INVALID' && valid.has(persona.id)) broken.push(`"${persona.name}"`)
    else if (validity !== persona.validity)
      await writePersona(tx, {
        persona: (await lockPersona(tx, persona.id)) ?? persona,
        changes: {},
        model,
        type: 'persona.updated',
        act,
        reason: 'orgmodel.version.activated',
      })
  }
  if (broken.length > 0)
    throw new ConflictError(
      `The activation would leave ${broken.join(', ')} without a filter that can be evaluated, so it was undone. Evaluate the draft again.`,
      { code: 'orgmodel.version.persona_invalid' },
    )
}

/** The database's clock, as text that a transition takes. */
export async function databaseClock(tx: Tx): Promise<string> {
  const [row] = await tx.query(NOW, [])
  return row!.now.toISOString()
}

const NOW = statement<{ now: Date }>(
  'organisation.activation.now',
  'select clock_timestamp() as now where $1::uuid is not null',
)
