import { networkError, RegieError, type ResponseError } from './errors.ts'
import type { RequestBody } from './operation.ts'

/**
 * The token to send: a fixed one, or a function that gives one for each request and connection. `refused` is true
 * when the server has just refused the last one, so that a new one should be fetched.
 */
export type TokenSource = string | ((request: { readonly refused: boolean }) => string | Promise<string>)

export const tokenFrom = async (source: TokenSource, refused: boolean): Promise<string> =>
  typeof source === 'string' ? source : source({ refused })

export interface HttpParts {
  readonly url: string
  readonly token: TokenSource
  readonly fetch: typeof fetch
}

export interface Answer {
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly errors?: readonly ResponseError[]
}

/** Posts a request; a refused token is fetched anew once. */
export async function post(
  parts: HttpParts,
  body: RequestBody,
  accept: string,
  signal?: AbortSignal,
): Promise<Response> {
  const response = await postOnce(parts, body, accept, false, signal)
  if (response.status !== 401 || typeof parts.token === 'string') return response
  await response.body?.cancel()
  return postOnce(parts, body, accept, true, signal)
}

async function postOnce(
  { url, token, fetch }: HttpParts,
  body: RequestBody,
  accept: string,
  refused: boolean,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const authorization = `Bearer ${await tokenFrom(token, refused)}`
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { accept, authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw networkError('The server cannot be reached.', error)
  }
}

/** The answer in a response; anything but GraphQL is told with its status. */
export async function answerIn(response: Response): Promise<Answer> {
  const text = await response.text()
  try {
    const answer: unknown = JSON.parse(text)
    if (typeof answer === 'object' && answer !== null && ('data' in answer || 'errors' in answer))
      return answer as Answer
  } catch {
    // Not JSON: a proxy's page, for instance.
  }
  const retryable = response.status >= 500 || response.status === 429
  throw new RegieError([
    {
      message: `The server answered ${response.status} ${response.statusText} and no GraphQL.`,
      extensions: { code: retryable ? 'SERVICE_UNAVAILABLE' : 'BAD_USER_INPUT', retryable },
    },
  ])
}
