import type { JobDefinition } from './definition.ts'
import { gateProblems } from './gates/gate-problems.ts'
import { ENGINE_JOBS } from './periodic/own-jobs.ts'
import { payloadProblems } from './payload.ts'
import { policyProblems } from './policy.ts'

/** A definition whose payload type is forgotten: a list of them can have no other element type. */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyJobDefinition = JobDefinition<any>

/** The job types that one process knows, the engine's own among them, checked as a whole. */
export class JobRegistry {
  readonly types: readonly string[]
  readonly #definitions: ReadonlyMap<string, AnyJobDefinition>

  /** @throws Error that lists everything that is wrong with the definitions, not only the first thing */
  constructor(own: readonly AnyJobDefinition[]) {
    const definitions = [...ENGINE_JOBS, ...own]
    const problems: string[] = []
    const known = new Map<string, AnyJobDefinition>()
    for (const definition of definitions) {
      const found = definitionProblems(definition)
      if (known.has(definition.type)) found.push('another job has this type too. Types are unique; rename one.')
      for (const problem of found) problems.push(`- ${definition.type}: ${problem}`)
      known.set(definition.type, definition)
    }
    if (problems.length > 0)
      throw new Error(`The job definitions cannot be used; nothing was started.\n${problems.join('\n')}`)
    this.#definitions = known
    this.types = [...known.keys()].sort()
  }

  /** The definition of a type that this registry handed to a claim. */
  get(type: string): AnyJobDefinition {
    const definition = this.#definitions.get(type)
    if (definition === undefined) throw new Error(`No job of the type "${type}" is defined in this process.`)
    return definition
  }
}

function definitionProblems(definition: AnyJobDefinition): string[] {
  const problems = [...policyProblems(definition), ...payloadProblems(definition), ...gateProblems(definition)]
  if (!/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/.test(definition.type) || definition.type.length > 100)
    problems.push('its type is not of the form `area.action` (lower case, dotted, at most 100 characters).')
  if ((definition.run === undefined) === (definition.runMany === undefined))
    problems.push(
      definition.run === undefined
        ? 'it has neither `run` nor `runMany`, so nothing would happen. Give one.'
        : 'it has both `run` and `runMany`; which one counts would be a guess. Give one.',
    )
  return problems
}
