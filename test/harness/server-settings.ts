/** A server whose data nobody will miss: no waiting for the disk, and room for many pools. */
export const TEST_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  shared_buffers: '256MB',
  max_wal_size: '4GB',
  // Every file has a database of its own, and a worker would be started for each of them every five seconds.
  autovacuum_naptime: '1min',
}

/** The same server's connection string for another database. */
export function databaseAt(serverUrl: string, database: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}
