import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { PrismaClient } from '../../src/database/generated/prisma/client.ts'
import { useDatabase } from '../harness/database.ts'
import { anyValue, type Column, columnsOf, dropRules } from './any-row.ts'

const db = useDatabase()
const [ours, theirs] = [randomUUID(), randomUUID()]

type Operations = Record<string, (args?: object) => Promise<unknown>>
interface Model {
  readonly name: string
  readonly table: string
  readonly fields: ReadonlySet<string>
}

// Prisma keeps its models on the instance only; without an adapter it refuses to be made, and with one it does not
// connect before the first query.
const models = Object.entries(
  (
    new PrismaClient({ adapter: { provider: 'postgres', adapterName: 'none' } as never }) as unknown as {
      _runtimeDataModel: { models: Record<string, { dbName: string | null; fields: { name: string }[] }> }
    }
  )._runtimeDataModel.models,
).map(
  ([name, { dbName, fields }]): Model => ({
    name,
    table: dbName ?? name,
    fields: new Set(fields.map((field) => field.name)),
  }),
)

beforeAll(() => dropRules(db.pool))

const foreignRows = async ({ table }: Model) =>
  (await db.pool.query(`select to_jsonb(t) as row from ${table} t where ${tenantColumn(table)} = $1`, [theirs])).rows
const tenantColumn = (table: string) => (table === 'tenant' ? 'id' : 'tenant_id')

/** A row of the model as Prisma takes it. */
const rowOf = (columns: readonly Column[], tenant: string, table: string) =>
  Object.fromEntries(
    columns.map(({ column, field, type }) => [field, column === tenantColumn(table) ? tenant : anyValue(type)]),
  )

test('all models of the schema are looked at', () => {
  expect(models.length).toBeGreaterThan(15)
  expect(models).toContainEqual(expect.objectContaining({ name: 'Tenant', table: 'tenant' }))
})

describe.each(models)('$name: another tenant’s row', (model) => {
  let columns: Column[]
  let foreign: Record<string, unknown>
  let key: Record<string, unknown>
  let change: Record<string, unknown>
  let own: Operations

  beforeAll(async () => {
    columns = (await columnsOf(db.pool, model.table)).filter(({ field }) => model.fields.has(field))
    foreign = rowOf(columns, theirs, model.table)
    const property = model.name.charAt(0).toLowerCase() + model.name.slice(1)
    const everybody = (await db.database.prisma()) as unknown as Record<string, Operations>
    await everybody[property]?.['create']?.({ data: foreign })
    own = ((await db.database.forTenant(ours)) as unknown as Record<string, Operations>)[property] as Operations

    const keyFields = columns
      .filter(({ keyPosition }) => keyPosition > 0)
      .sort((a, b) => a.keyPosition - b.keyPosition)
      .map(({ field }) => field)
    const values = Object.fromEntries(keyFields.map((field) => [field, foreign[field]]))
    key = keyFields.length === 1 ? values : { [keyFields.join('_')]: values }
    const free = columns.findLast(({ column }) => column !== tenantColumn(model.table)) as Column
    change = { [free.field]: anyValue(free.type) }
  })

  test('is not read', async () => {
    const tenantField = model.name === 'Tenant' ? 'id' : 'tenantId'
    const anybody = { OR: [{ [tenantField]: theirs }, { [tenantField]: { not: theirs } }] }
    expect(await own['findUnique']?.({ where: key })).toBeNull()
    await expect(own['findUniqueOrThrow']?.({ where: key })).rejects.toThrow()
    for (const where of [{}, { [tenantField]: theirs }, anybody]) {
      expect(await own['findFirst']?.({ where })).toBeNull()
      await expect(own['findFirstOrThrow']?.({ where })).rejects.toThrow()
      expect(await own['findMany']?.({ where })).toEqual([])
      expect(await own['count']?.({ where })).toBe(0)
      expect(await own['aggregate']?.({ where, _count: true })).toEqual({ _count: 0 })
      expect(await own['groupBy']?.({ where, by: [tenantField] })).toEqual([])
    }
    expect(await own['findMany']?.()).toEqual([])
    await expect(own['findMany']?.({ cursor: key })).rejects.toThrow('must hold the tenant')
  })

  test('is not written, and no row is made that would be theirs', async () => {
    const before = await foreignRows(model)
    expect(before).toHaveLength(1)
    await expect(own['update']?.({ where: key, data: change })).rejects.toThrow()
    await expect(own['delete']?.({ where: key })).rejects.toThrow()
    expect(await own['updateMany']?.({ data: change })).toEqual({ count: 0 })
    expect(await own['updateManyAndReturn']?.({ data: change })).toEqual([])
    expect(await own['deleteMany']?.({})).toEqual({ count: 0 })
    const move = own['updateMany']?.({ data: { [model.name === 'Tenant' ? 'id' : 'tenantId']: theirs } })
    await expect(move).rejects.toThrow('never changes its tenant')

    const made: unknown[] = []
    const fresh = () => rowOf(columns, theirs, model.table)
    const attempts: [string, object][] = [
      ['create', { data: fresh() }],
      ['createMany', { data: [fresh()] }],
      ['createManyAndReturn', { data: [fresh()] }],
      ['upsert', { where: key, create: foreign, update: change }],
    ]
    for (const [operation, args] of attempts) {
      // A table whose key is the tenant alone has room for one row of ours only.
      const result = await own[operation]?.(args).catch((error: unknown) => error)
      if (!(result instanceof Error)) made.push(result)
    }
    const keyedByTenantAlone = columns.filter(({ keyPosition }) => keyPosition > 0).length === 1
    expect(made.length).toBeGreaterThanOrEqual(keyedByTenantAlone ? 1 : attempts.length)
    expect(await foreignRows(model)).toEqual(before)
  })
})
