import { statement } from '../../../database/index.ts'
import { bad, good, span, warning, type Check } from '../check.ts'

const LATE_SECONDS = 60
const VERY_LATE_SECONDS = 900

/** How long the oldest due job of each type has been waiting. Paused types wait on purpose and are left out. */
export const backlog: Check = {
  name: 'backlog',
  async look(database) {
    const rows = await database.run(OLDEST_DUE, [])
    const late = rows.filter(({ seconds }) => seconds >= LATE_SECONDS)
    if (late.length === 0) return [good('No job has been due for more than a minute.')]
    return late.map(({ type, seconds }) => {
      const says = `The oldest due job of type "${type}" has been waiting for ${span(seconds)}.`
      const next =
        'Ask for its `waitingBecause` in the operators’ API; when it only waits for its turn, add threads or processes.'
      return seconds >= VERY_LATE_SECONDS ? bad(says, next) : warning(says, next)
    })
  },
}

// One descent of the waiting index per lane, never the backlog: the first row of each is its oldest.
const OLDEST_DUE = statement<{ type: string; seconds: number }>(
  'doctor.backlog',
  `with recursive lane as (
     (select type, tenant_id, urgency, due from job where worker_id is null
      order by type, tenant_id, urgency, due limit 1)
     union all
     select next.* from lane cross join lateral (
       select type, tenant_id, urgency, due from job
       where worker_id is null and (type, tenant_id, urgency) > (lane.type, lane.tenant_id, lane.urgency)
       order by type, tenant_id, urgency, due limit 1
     ) next
   )
   select type, extract(epoch from clock_timestamp() - min(due))::float8 as seconds
   from lane
   where due <= clock_timestamp() and not exists (
     select from job_type where job_type.type = lane.type and paused_at is not null
   )
   group by type order by seconds desc limit 20`,
)
