import { isStorable } from '../../database/index.ts'
import { ValidationError } from '../../errors/index.ts'
import type { JobFilter } from '../../jobs/operating/index.ts'
import { builder } from '../builder.ts'
import { decodeId, idArg } from '../id.ts'
import { TENANT_UUID, tenantOf } from './job.ts'
import { FailureClass, JobStatus } from '../job-enums.ts'

const MOST_TYPES = 100
const LONGEST_TEXT = 200

export const OperatedJobsFilter = builder.inputType('OperatedJobsFilter', {
  description: 'Which jobs. Everything that is given must hold; what is left out does not narrow.',
  fields: (t) => ({
    types: t.stringList({ description: `Only jobs of these types, at most ${MOST_TYPES}.` }),
    statuses: t.field({ type: [JobStatus], description: 'Only jobs in one of these statuses.' }),
    tenantUuid: t.field({ type: 'UUID', description: `Only jobs of this tenant. ${TENANT_UUID}` }),
    batchId: t.id(idArg('JobBatch', 'Only jobs of this batch.')),
    correlationId: t.string({ description: 'Only jobs that go back to this request.' }),
    errorCode: t.string({ description: 'Only jobs whose last attempt failed with this code.' }),
    failureClass: t.field({ type: FailureClass, description: 'Only jobs whose last attempt failed for this cause.' }),
    createdAfter: t.field({ type: 'DateTime', description: 'Only jobs enqueued at this moment or later.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Only jobs enqueued before this moment.' }),
    finishedAfter: t.field({ type: 'DateTime', description: 'Only jobs that were over at this moment or later.' }),
    finishedBefore: t.field({ type: 'DateTime', description: 'Only jobs that were over before this moment.' }),
    dueBefore: t.field({ type: 'DateTime', description: 'Only waiting jobs that are due before this moment.' }),
    isDue: t.boolean({
      description: 'Only waiting jobs whose time has come, or only those whose time has not; held ones have none.',
    }),
    isHeld: t.boolean({ description: 'Only waiting jobs that somebody put aside, or only those that nobody did.' }),
  }),
})

type Input = typeof OperatedJobsFilter.$inferInput

/**
 * The engine's filter of an input.
 * @param path where the input stands, for what is refused
 * @throws ValidationError, BAD_USER_INPUT
 */
export function jobFilterOf(input: Input | null | undefined, path: readonly string[]): JobFilter {
  if (input == null) return {}
  const { types, tenantUuid, batchId, correlationId, errorCode, isDue, isHeld, ...same } = input
  return {
    ...present(same),
    ...(types == null ? {} : { types: typesOf(types, [...path, 'types']) }),
    ...(tenantUuid == null ? {} : { tenantId: tenantOf(tenantUuid) }),
    ...(batchId == null ? {} : { batchId: decodeId('JobBatch', batchId, [...path, 'batchId']) }),
    ...(correlationId == null ? {} : { correlationId: textOf(correlationId, [...path, 'correlationId']) }),
    ...(errorCode == null ? {} : { code: textOf(errorCode, [...path, 'errorCode']) }),
    ...(isDue == null ? {} : { due: isDue }),
    ...(isHeld == null ? {} : { held: isHeld }),
  }
}

type Present<Fields> = { [Name in keyof Fields]?: NonNullable<Fields[Name]> }

/** The fields that are given: null narrows as little as what is left out. */
export const present = <Fields extends object>(fields: Fields): Present<Fields> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as Present<Fields>

/** @throws ValidationError */
export function typesOf(types: readonly string[], path: readonly string[]): readonly string[] {
  if (types.length > MOST_TYPES)
    throw new ValidationError(`At most ${MOST_TYPES} types fit in one filter. Leave it out for all types.`, { path })
  return types.map((type) => textOf(type, path))
}

/** A text that a column is compared with. @throws ValidationError for one that no column holds */
export function textOf(text: string, path: readonly string[]): string {
  if (text !== '' && text.length <= LONGEST_TEXT && isStorable(text)) return text
  throw new ValidationError(`"${path.at(-1)}" takes 1 to ${LONGEST_TEXT} characters.`, { path })
}
