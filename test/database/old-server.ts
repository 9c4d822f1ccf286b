import { createServer, type Server } from 'node:net'

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const int16 = (value: number) => Buffer.from([value >> 8, value & 255])
const int32 = (value: number) => Buffer.from([value >> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255])
const text = (value: string) => Buffer.from(`${value}\0`)

const READY = message('Z', Buffer.from('I'))
const WELCOME = Buffer.concat([message('R', int32(0)), READY])

/** One row of two columns, `version` as text and `number` as int4. */
function answer(version: string, number: number): Buffer {
  const column = (name: string, type: number, size: number) =>
    Buffer.concat([text(name), int32(0), int16(0), int32(type), int16(size), int32(-1), int16(0)])
  const value = (content: string) => Buffer.concat([int32(content.length), Buffer.from(content)])
  return Buffer.concat([
    message('T', Buffer.concat([int16(2), column('version', 25, -1), column('number', 23, 4)])),
    message('D', Buffer.concat([int16(2), value(version), value(String(number))])),
    message('C', text('SELECT 1')),
    READY,
  ])
}

/** Speaks just enough of PostgreSQL's protocol to let anybody in and say how old it is. */
export async function oldServer(version: string, number: number): Promise<{ url: string; server: Server }> {
  const server = createServer((socket) => {
    let greeted = false
    socket.on('error', () => {})
    socket.on('data', (data) => {
      if (!greeted) socket.write(WELCOME)
      else if (data.toString('latin1').startsWith('Q')) socket.write(answer(version, number))
      greeted = true
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return { url: `postgresql://regie@127.0.0.1:${port}/regie`, server }
}
