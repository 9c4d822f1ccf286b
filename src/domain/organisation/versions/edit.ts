import type { Tx } from '../../../database/index.ts'
import type { Act } from '../../../transitions/index.ts'
import { transition } from '../../../transitions/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { actOf } from '../act.ts'
import { canonicalId } from '../ids.ts'
import { versionLifecycle } from '../lifecycles.ts'
import type { Json } from '../model/canonical.ts'
import { loadModel } from '../model/load.ts'
import type { ModelSnapshot } from '../model/model.ts'
import { writeTransaction } from '../write-transaction.ts'
import { DraftChangedError, NoDraftError } from './errors.ts'
import { lockDraft } from './lock.ts'
import { appendOperation, type OperationKind } from './operations.ts'
import { type OrgModelVersion, versionOf } from './version.ts'

/** What every edit says about the draft that its user had before the eyes. */
export interface EditInput {
  readonly expectedContentRevision: number
  /** Guards against a draft that was discarded and opened anew meanwhile (C37). */
  readonly expectedDraftVersionId?: string | null
}

/** The draft within an edit: locked, at the revision that was expected. */
export interface EditedDraft {
  readonly id: string
  readonly model: ModelSnapshot
}

/** What an edit did, for the operation log; null when it changed nothing. */
export interface Edit {
  readonly op: OperationKind
  readonly attributeId: string
  readonly valueId: string | null
  readonly before: Json
  readonly after: Json
}

/**
 * Runs one edit: draft locked, expectations checked, content written by `body`, content revision + 1, operation
 * logged and the event written, all or nothing. An edit that changes nothing leaves no trace.
 * @throws NoDraftError, DraftChangedError and what `body` throws
 */
export async function editDraft(
  call: Call,
  input: EditInput,
  body: (tx: Tx, draft: EditedDraft) => Promise<Edit | null>,
): Promise<{ readonly version: OrgModelVersion; readonly model: ModelSnapshot }> {
  mustBeAllowed(call.viewer, 'orgmodel.edit')
  return writeTransaction(call, async (tx) => {
    const draft = await lockDraft(tx)
    if (draft === null) throw new NoDraftError()
    const expected = input.expectedDraftVersionId ?? null
    if (expected !== null && canonicalId(expected) !== draft.id) {
      throw new DraftChangedError(draft, ['expectedDraftVersionId'])
    }
    if (input.expectedContentRevision !== draft.contentRevision) {
      throw new DraftChangedError(draft, ['expectedContentRevision'])
    }
    const edit = await body(tx, { id: draft.id, model: await loadModel(tx, draft.id) })
    if (edit !== null) await record(tx, draft.id, draft.contentRevision + 1, edit, actOf(call.viewer))
    const version = await tx.prisma.orgModelVersion.findFirstOrThrow({ where: { id: draft.id } })
    return { version: versionOf(version), model: await loadModel(tx, draft.id) }
  })
}

async function record(tx: Tx, versionId: string, contentRevision: number, edit: Edit, act: Act): Promise<void> {
  await appendOperation(tx, { ...edit, ...act, versionId, seq: contentRevision })
  const { op, attributeId, valueId } = edit
  await transition(tx, versionLifecycle, {
    id: versionId,
    to: 'DRAFT',
    act,
    data: { op, attributeId, valueId, contentRevision },
    set: { content_revision: contentRevision },
  })
}
