import { answerIn, post, type Answer, type HttpParts } from './connection.ts'
import { networkError } from './errors.ts'
import type { Transport } from './transport.ts'

/** Subscriptions over server-sent events: one HTTP request each, through any proxy that streams. */
export function sseTransport(parts: HttpParts): Transport {
  return {
    async run(body, next, signal) {
      const response = await post(parts, body, 'text/event-stream', signal)
      if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
        next(await answerIn(response))
        return
      }
      try {
        for await (const { event, data } of eventsIn(response.body!)) {
          if (event === 'complete') return
          if (event === 'next') next(JSON.parse(data) as Answer)
        }
      } catch (error) {
        if (signal.aborted) return
        throw networkError('The stream broke.', error)
      }
      if (!signal.aborted) throw networkError('The stream broke before its end.')
    },
    dispose: async () => {},
  }
}

interface ServerSentEvent {
  readonly event: string
  readonly data: string
}

/** The events in a body, as the HTML standard parses them; comments are the server's keep-alive. */
async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let pending = ''
  let event = ''
  let data: string[] = []
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = (pending + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r/)
      pending = lines.pop() ?? ''
      for (const line of lines) {
        if (line === '') {
          if (event !== '' || data.length > 0) yield { event: event === '' ? 'message' : event, data: data.join('\n') }
          event = ''
          data = []
          continue
        }
        const [, field, text = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
        if (field === 'event') event = text
        else if (field === 'data') data.push(text)
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
