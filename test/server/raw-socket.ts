import WebSocket from 'ws'

type Frame = { readonly id?: string; readonly type: string; readonly payload?: unknown }

/** A client without manners: sends what it is told and shows what came. */
export class RawSocket {
  readonly socket: WebSocket
  readonly frames: Frame[] = []
  readonly closed: Promise<{ code: number; reason: string }>
  #arrived: (() => void)[] = []

  constructor(url: string, options: { protocol?: string; headers?: Record<string, string> } = {}) {
    this.socket = new WebSocket(url, options.protocol ?? 'graphql-transport-ws', { headers: options.headers ?? {} })
    this.socket.on('error', () => {})
    this.socket.on('message', (data) => {
      this.frames.push(JSON.parse((data as Buffer).toString()) as Frame)
      for (const arrived of this.#arrived.splice(0)) arrived()
    })
    this.closed = new Promise((resolve) => {
      this.socket.once('close', (code, reason) => {
        resolve({ code, reason: String(reason) })
        for (const arrived of this.#arrived.splice(0)) arrived()
      })
    })
  }

  async opened(): Promise<this> {
    if (this.socket.readyState !== WebSocket.OPEN) await new Promise((resolve) => this.socket.once('open', resolve))
    return this
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
  }

  /** The first frame for which the predicate holds, now or later; fails when the socket closes without one. */
  async frame(wanted: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const found = this.frames.find(wanted)
      if (found !== undefined) return found
      if (this.socket.readyState >= WebSocket.CLOSING) throw new Error('The socket closed without that frame.')
      await new Promise<void>((resolve) => this.#arrived.push(resolve))
    }
  }

  /** Opens and says hello as `token`. */
  async hello(token = 'ann'): Promise<this> {
    await this.opened()
    this.send({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } })
    await this.frame(({ type }) => type === 'connection_ack')
    return this
  }

  subscribe(id: string, query: string, variables?: unknown): void {
    this.send({ id, type: 'subscribe', payload: { query, variables } })
  }
}

/** An event stream over HTTP, event by event. */
export interface SseEvent {
  readonly event: string
  readonly data: unknown
}

export async function openSse(
  url: string,
  query: string,
  options: { token?: string; signal?: AbortSignal } = {},
): Promise<{ response: Response; events: AsyncGenerator<SseEvent, void> }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      authorization: `Bearer ${options.token ?? 'ann'}`,
    },
    body: JSON.stringify({ query }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  })
  return { response, events: eventsOf(response) }
}

async function* eventsOf(response: Response): AsyncGenerator<SseEvent, void> {
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const event = lines.find((line) => line.startsWith('event: '))?.slice('event: '.length)
      if (event === undefined) continue
      const data = lines.find((line) => line.startsWith('data: '))?.slice('data: '.length)
      yield { event, data: data === undefined ? null : JSON.parse(data) }
    }
  }
}
