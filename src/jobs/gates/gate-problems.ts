import type { BreakerOptions, JobDefinition, JobLimits } from '../definition.ts'

/** What is wrong with a type's limits, dependency and breaker, in sentences; empty when start-up may accept them. */
export function gateProblems({
  limits = {},
  dependency,
  breaker,
}: Pick<JobDefinition<never>, 'limits' | 'dependency' | 'breaker'>): string[] {
  const problems = Object.entries(numbersOf(limits, breaker))
    .filter(([, value]) => value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= LARGEST))
    .map(([name, value]) => `${name} is ${value}; give a whole number from 1 to ${LARGEST}, or leave it out.`)
  if (typeof dependency === 'string' && (dependency.trim() === '' || dependency.length > 200))
    problems.push('its dependency has no name, or one of more than 200 characters. Name the outside service.')
  if (breaker !== undefined && dependency === undefined)
    problems.push('it has breaker options but no dependency, so there is no breaker. Name the outside service.')
  return problems
}

/** What the columns and a timer of Node can hold. */
const LARGEST = 2 ** 31 - 1

const numbersOf = (limits: JobLimits, breaker: BreakerOptions = {}): Record<string, number | undefined> => ({
  'limits.running': limits.running,
  'limits.runningPerTenant': limits.runningPerTenant,
  'limits.ratePerTenant.jobs': limits.ratePerTenant?.jobs,
  'limits.ratePerTenant.perMs': limits.ratePerTenant?.perMs,
  'breaker.failures': breaker.failures,
  'breaker.openMs': breaker.openMs,
  'breaker.longestOpenMs': breaker.longestOpenMs,
})
