import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, inject, test } from 'vitest'
import { migrationFiles, projectFolder } from '../../src/database/index.ts'
import { close, open, useDatabase } from '../harness/database.ts'
import { databaseAt } from '../harness/server-settings.ts'
import { prismaSql } from './prisma-sql.ts'

const db = useDatabase()

// One line per fact, without names that the two sides choose differently. Defaults stand by themselves: the
// migrations may have more of them than Prisma knows.
const FACTS = `
  select format('%s.%s is %s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
           -- A list is never null to Prisma, whatever the column says.
           case when a.attnotnull and t.typcategory <> 'A' then ' not null' else '' end) as fact
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
   where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
  union all
  select format('%s.%s defaults to %s', c.relname, a.attname,
           replace(pg_get_expr(d.adbin, d.adrelid), 'CURRENT_TIMESTAMP', 'now()'))
    from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
   where c.relnamespace = 'public'::regnamespace
  union all
  select format('%s has %s', conrelid::regclass,
           regexp_replace(pg_get_constraintdef(oid), ' ON UPDATE (CASCADE|RESTRICT)| ON DELETE RESTRICT| DEFERRABLE.*', '', 'g'))
    from pg_constraint where connamespace = 'public'::regnamespace and contype in ('p', 'f')
  union all
  select regexp_replace(indexdef, 'INDEX \\S+ ON', 'INDEX ON') from pg_indexes where schemaname = 'public'
  union all
  select format('enum %s is %s', t.typname, string_agg(enumlabel, ', ' order by enumsortorder))
    from pg_enum e join pg_type t on t.oid = e.enumtypid group by t.typname`

const facts = async (pool: pg.Pool) => (await pool.query<{ fact: string }>(FACTS)).rows.map(({ fact }) => fact)

test('whatever the Prisma schema says, the migrations have made', async () => {
  const name = `${new URL(db.url).pathname.slice(1)}_prisma`
  await db.pool.query(`create database ${name}`)
  const prisma = open(databaseAt(inject('serverUrl'), name))
  try {
    await prisma.pool.query(await prismaSql(prisma.url))
    const want = await facts(prisma.pool)
    expect(want.length).toBeGreaterThan(100)
    const have = new Set(await facts(db.pool))
    expect(want.filter((fact) => !have.has(fact))).toEqual([])
  } finally {
    await close(prisma)
    await db.pool.query(`drop database ${name} with (force)`)
  }
})

test('every table that Prisma writes forbids its rows to move to another tenant', async () => {
  const { rows } = await db.pool.query<{ table: string }>(
    `select c.relname as table from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
      where c.relname = any($1) and not exists (
        select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
         where t.tgrelid = c.oid and p.proname = 'forbid_tenant_change' and t.tgenabled = 'O'
           and t.tgtype & 19 = 19) -- a row, before, update
      order by 1`,
    [tables()],
  )
  expect(rows.map(({ table }) => table)).toEqual([])
})

test('a row that would move to another tenant is refused, whatever moves it', async () => {
  await db.pool.query(`
    insert into tenant (id, name) values ('018f0000-0000-7000-8000-00000000000a', 'a'),
                                         ('018f0000-0000-7000-8000-00000000000b', 'b');
    insert into membership (tenant_id, subject, roles, token_issued_at)
    values ('018f0000-0000-7000-8000-00000000000a', 'somebody', '{}', now())`)
  await expect(
    db.pool.query(`update membership set tenant_id = '018f0000-0000-7000-8000-00000000000b'`),
  ).rejects.toMatchObject({ code: 'RG010' })
  await db.pool.query(`update membership set tenant_id = tenant_id`)
})

function tables(): string[] {
  const folder = join(projectFolder(), 'prisma')
  const schema = readdirSync(folder)
    .filter((name) => name.endsWith('.prisma'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
  return [...schema.join('').matchAll(/^\s*@@map\("(\w+)"\)/gm)].map(([, name]) => name as string)
}

test('a foreign key between two tables with a tenant holds the tenant', async () => {
  const { rows } = await db.pool.query<{ key: string }>(
    `select format('%s: %s', conrelid::regclass, pg_get_constraintdef(k.oid)) as key from pg_constraint k
      where contype = 'f' and connamespace = 'public'::regnamespace and conparentid = 0
        and exists (select from pg_attribute where attrelid = conrelid and attname = 'tenant_id')
        and exists (select from pg_attribute where attrelid = confrelid and attname = 'tenant_id')
        and not exists (select from pg_attribute where attrelid = conrelid and attname = 'tenant_id'
                           and attnum = any(conkey))`,
  )
  expect(rows).toEqual([])
})

test('migrations stand in an order that nothing can get in between', () => {
  for (const { name } of migrationFiles()) expect(name).toMatch(/^\d{14}_[a-z_]+$/)
})

test('the Prisma packages are of one version', () => {
  const { packages } = JSON.parse(readFileSync(join(projectFolder(), 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string }>
  }
  const version = (name: string) => packages[`node_modules/${name}`]?.version
  expect(version('prisma')).toMatch(/^\d+\.\d+\.\d+$/)
  for (const name of ['@prisma/client', '@prisma/adapter-pg', '@prisma/driver-adapter-utils', '@prisma/engines']) {
    expect([name, version(name)]).toEqual([name, version('prisma')])
  }
  expect(version('@prisma/schema-engine-wasm')?.startsWith(`${version('prisma')}-`)).toBe(true)
})

test('graphql is installed once: two copies refuse each other’s schemas', () => {
  const { packages } = JSON.parse(readFileSync(join(projectFolder(), 'package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>
  }
  expect(Object.keys(packages).filter((path) => path.endsWith('node_modules/graphql'))).toEqual([
    'node_modules/graphql',
  ])
})
