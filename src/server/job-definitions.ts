import type { AnyJobDefinition } from '../jobs/index.ts'
import { drafts } from './composition.ts'

/** Every job type of this version. Worker threads import this module in its compiled form. */
export const jobDefinitions: readonly AnyJobDefinition[] = [drafts.resolutionJob]
