import { jobAlerts } from '../../../jobs/index.ts'
import { bad, good, span, warning, type Check, type Finding } from '../check.ts'

const LATE_SECONDS = 60
const VERY_LATE_SECONDS = 900

/** How long the oldest due job of each type has been waiting, and what the engine itself has raised an alert for. */
export const backlog: Check = {
  name: 'backlog',
  async look(database) {
    const { oldestDue, pausedTypes, failingTypes, quarantined, openBreakers } = await jobAlerts(database)
    const paused = new Set(pausedTypes.map(({ type }) => type))
    const late = oldestDue
      .map(({ type, waitingMs }) => ({ type, seconds: waitingMs / 1000 }))
      .filter(({ type, seconds }) => seconds >= LATE_SECONDS && !paused.has(type))
      .toSorted((a, b) => b.seconds - a.seconds)
    const findings: Finding[] = [
      ...late.map(({ type, seconds }) =>
        (seconds >= VERY_LATE_SECONDS ? bad : warning)(
          `The oldest due job of type "${type}" has been waiting for ${span(seconds)}.`,
          'Ask for its `waitingBecause` in the operators’ API; when it only waits for its turn, add threads or processes.',
        ),
      ),
      ...failingTypes.map(({ type, since }) =>
        bad(
          `The type "${type}" keeps failing since ${since.toISOString()}.`,
          'The operators’ API has its failed jobs with their errors: jobs(filter: { types: […], statuses: [FAILED] }).',
        ),
      ),
      ...openBreakers.map(({ type, dependency, since }) =>
        warning(
          `Jobs of type "${type}" wait for "${dependency}", which does not answer since ${since.toISOString()}.`,
          'Nothing is lost: one job tries again and again. See to the service.',
        ),
      ),
      ...quarantined.map(({ type, jobs }) =>
        warning(
          `${jobs} job(s) of type "${type}" killed their workers and are in quarantine.`,
          'Find out why before you retry or handle them: they run alone, and one more death is final.',
        ),
      ),
    ]
    return findings.length > 0
      ? findings
      : [good('No job has been due for more than a minute, and no type is failing.')]
  },
}
