import { isChoice, type ModelSnapshot, type ModelValue } from '../../model/model.ts'
import type { Evaluator } from '../evaluator.ts'
import type { Finding, IssueCode } from '../issue.ts'

/** A hierarchy deeper than this is a slip, and slow to walk. */
const MOST_LEVELS = 12

const blocking = (entity: IssueCode['entity'], description: string): IssueCode => ({
  severity: 'BLOCKING',
  entity,
  description,
})

/** E15: the draft as a model of its own. Resolved by editing the draft, so no action is offered. */
export const modelStructure: Evaluator = {
  code: 'model_structure',
  version: 1,
  codes: {
    'model.no_changes': blocking(null, 'The draft says what the active version says.'),
    'model.base_outdated': blocking(null, 'The draft was made from a version that is no longer the active one.'),
    'model.empty_select': blocking('ATTRIBUTE', 'An attribute with a list of values has none.'),
    'model.orphan_parent': blocking('VALUE', 'A value stands below one that is not in the draft.'),
    'model.hierarchy_cycle': blocking('VALUE', 'A value stands below itself.'),
    'model.depth_exceeded': blocking('VALUE', `A value stands deeper than ${MOST_LEVELS} levels.`),
  },
  proposes: [],

  evaluate({ draft, changes, baseVersionId, activeVersionId }) {
    const findings: Finding[] = []
    if (changes.length === 0)
      findings.push(finding('model.no_changes', null, null, 'The draft changes nothing. Edit it, or discard it.'))
    if (baseVersionId !== activeVersionId) {
      const message = 'Another version has become active since this draft was made. Make a new draft from it.'
      findings.push(finding('model.base_outdated', null, null, message))
    }
    for (const attribute of draft.attributes.values())
      if (isChoice(attribute.dataType) && attribute.values.length === 0)
        findings.push(
          finding(
            'model.empty_select',
            attribute.id,
            attribute.label,
            `"${attribute.label}" needs at least one value.`,
          ),
        )
    for (const value of draft.values.values()) findings.push(...misplaced(value, draft))
    return findings
  },
}

function misplaced(value: ModelValue, draft: ModelSnapshot): Finding[] {
  const { id, label } = value
  if (value.parentValueId === null) return []
  if (!draft.values.has(value.parentValueId))
    return [finding('model.orphan_parent', id, label, `"${label}" stands below a value that is not in the draft.`)]
  const seen = new Set([id])
  for (let parent = value.parentValueId as string | null; parent !== null; ) {
    if (parent === id) return [finding('model.hierarchy_cycle', id, label, `"${label}" stands below itself.`)]
    if (seen.has(parent)) return []
    seen.add(parent)
    parent = draft.values.get(parent)?.parentValueId ?? null
  }
  if (seen.size <= MOST_LEVELS) return []
  return [
    finding(
      'model.depth_exceeded',
      id,
      label,
      `"${label}" stands ${seen.size} levels deep; ${MOST_LEVELS} are possible.`,
    ),
  ]
}

const finding = (code: string, entityId: string | null, entityLabel: string | null, message: string): Finding => ({
  code,
  entityId,
  entityLabel,
  changes: [],
  references: [],
  affectedCount: null,
  message,
  proposals: [],
})
