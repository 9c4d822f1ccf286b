import type { Act } from '../../transitions/index.ts'
import type { Viewer } from '../../viewer/index.ts'

/** The viewer as the one who acts, for the events of a call. */
export const actOf = ({ subject, correlationId }: Viewer): Act => ({ actor: subject, correlationId })
