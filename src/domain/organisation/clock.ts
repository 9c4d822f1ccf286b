import { statement, type Tx } from '../../database/index.ts'
import type { Reader } from './reader.ts'

/** How often what hangs on the model, and the people, were written. */
export interface DownstreamClock {
  readonly revision: number
  readonly peopleRevision: number
}

/** One more: something that refers to the model was written. Lock order: versions, the thing itself, clock. */
export async function bumpDownstream(tx: Tx): Promise<number> {
  return (await only(tx, BUMP_DOWNSTREAM)).revision
}

/** One more: people were written. Lock order: versions, clock, people. */
export async function bumpPeople(tx: Tx): Promise<number> {
  return (await only(tx, BUMP_PEOPLE)).peopleRevision
}

/** `update` keeps both as they are until the transaction ends. */
export async function downstreamClock(reader: Reader, how: 'read' | 'update'): Promise<DownstreamClock> {
  return only(reader, how === 'read' ? READ : READ_FOR_UPDATE)
}

/** Made with the tenant; every other function here needs it. */
export async function startClock(tx: Tx): Promise<void> {
  await tx.query(START, [])
}

async function only(reader: Reader, sql: typeof READ): Promise<DownstreamClock> {
  const [clock] = await reader.query(sql, [])
  if (clock === undefined) throw new Error('The tenant has no downstream clock: it was not made by createTenant.')
  return clock
}

// float8 holds every whole number up to 2^53 and reaches JavaScript as a number by both drivers.
const COLUMNS = `revision::float8 as revision, people_revision::float8 as "peopleRevision"`
const clockSql = (name: string, text: string) => statement<DownstreamClock>(`organisation.clock.${name}`, text)

const START = clockSql(
  'start',
  `insert into org_model_downstream_clock (tenant_id) values ($1::uuid) returning ${COLUMNS}`,
)
const READ = clockSql('read', `select ${COLUMNS} from org_model_downstream_clock where tenant_id = $1::uuid`)
const READ_FOR_UPDATE = clockSql('lock', `${READ.text} for update`)
const BUMP_DOWNSTREAM = clockSql(
  'bump_downstream',
  `update org_model_downstream_clock set revision = revision + 1 where tenant_id = $1::uuid returning ${COLUMNS}`,
)
const BUMP_PEOPLE = clockSql(
  'bump_people',
  `update org_model_downstream_clock set people_revision = people_revision + 1 where tenant_id = $1::uuid returning ${COLUMNS}`,
)
