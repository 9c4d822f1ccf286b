import { z } from 'zod'
import type { Database } from '../../database/index.ts'
import type { Drafts } from '../../domain/organisation/index.ts'
import { ValidationError } from '../../errors/index.ts'
import { RequestRefused } from './problem.ts'
import type { RestRoute } from './rest-endpoint.ts'

export const DRAFT_RESOLUTIONS_PATH = '/usertypes/org-model/versions/draft/resolutions'

/** The names are the seed's; what is not among them is refused, since a misspelt name would be a lost choice. */
const BODY = z.strictObject({
  resolutions: z.array(
    z.strictObject({
      issueCode: z.string(),
      affectedEntityId: z.string().nullish(),
      chosenActionType: z.string(),
      actionPayload: z.unknown().optional(),
    }),
  ),
})

/**
 * `POST /usertypes/org-model/versions/draft/resolutions` of the seed: the same domain function as the mutation
 * `submitOrgModelResolutions`, in the seed's words. `X-Tenant-Id` must be the token's tenant (C45); an
 * `Idempotency-Key` is the mutation's.
 */
export function draftResolutions(drafts: Drafts, database: Database): RestRoute {
  return {
    path: DRAFT_RESOLUTIONS_PATH,
    method: 'POST',
    async answer({ viewer, headers, body }) {
      const asked = headers['x-tenant-id']
      if (typeof asked !== 'string' || asked.toLowerCase() !== viewer.tenantId)
        throw new RequestRefused(403, 'FORBIDDEN', 'The header X-Tenant-Id must name the tenant of the token.')
      const parsed = BODY.safeParse(body)
      if (!parsed.success) {
        const [issue] = parsed.error.issues
        throw new ValidationError(`The request is not of the expected shape: ${issue?.message ?? 'unknown'}.`, {
          code: 'orgmodel.resolution.request_invalid',
          path: [...(issue?.path.map(String) ?? [])],
        })
      }
      const key = headers['idempotency-key']
      const submitted = await drafts.submitResolutions(
        { viewer, database },
        {
          resolutions: parsed.data.resolutions.map(({ affectedEntityId = null, actionPayload = null, ...choice }) => ({
            ...choice,
            affectedEntityId,
            actionPayload,
          })),
          ...(typeof key === 'string' ? { idempotencyKey: key } : {}),
        },
      )
      return {
        status: 201,
        body: {
          resolutions: submitted.map(({ resolutionId, issueCode, affectedEntityId, jobId }) => ({
            resolutionId,
            issueCode,
            affectedEntityId,
            hangfireJobId: jobId,
          })),
        },
      }
    },
  }
}
