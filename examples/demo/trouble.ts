import pg from 'pg'

/** Rows that somebody holds. */
export interface Hold {
  release(): Promise<void>
}

/**
 * The one connection of the demo that goes past the API: it takes the lock on two personas and keeps it, as a
 * forgotten transaction or a long report would in real life.
 */
export async function holdPersonas(databaseUrl: string, personaUuids: readonly string[]): Promise<Hold> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'regie demo: trouble' })
  // When the server goes first, because the demo failed, there is nothing left to release.
  client.on('error', () => {})
  await client.connect()
  await client.query('begin')
  const held = await client.query('select id from persona where id = any($1::uuid[]) order by id for update', [
    personaUuids,
  ])
  if (held.rowCount !== personaUuids.length) throw new Error('The personas to hold are not in the database.')
  return {
    release: async () => {
      await client.query('rollback')
      await client.end()
    },
  }
}
