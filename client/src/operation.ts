import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core'

/** An operation with its types; the generated documents are such. */
export interface Operation<Result, Variables> extends DocumentTypeDecoration<Result, Variables> {
  toString(): string
}

/** What goes over the wire. */
export interface RequestBody {
  readonly query: string
  readonly operationName?: string
  readonly variables?: Readonly<Record<string, unknown>>
}

const NAME = /\b(?:query|mutation|subscription)\s+(\w+)/

export function requestBody<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables | undefined,
): RequestBody {
  const query = operation.toString()
  const operationName = NAME.exec(query)?.[1]
  return {
    query,
    ...(operationName === undefined ? {} : { operationName }),
    variables: (variables ?? {}) as Readonly<Record<string, unknown>>,
  }
}

/** Variables may be left out when none is required. */
export type VariablesOf<Variables> = {} extends Variables ? [variables?: Variables] : [variables: Variables]
