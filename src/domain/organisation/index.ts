export type { Activation } from './activation/activation.ts'
export type { AudienceReceipt } from './activation/audience-receipt.ts'
export type { ActivateDraftInput } from './activation/activate.ts'
export type { DiscardDraftInput } from './activation/discard.ts'
export {
  BlockingIssuesError,
  StagedEffectConflictError,
  type BlockingIssue,
  type StagedEffectConflict,
} from './activation/errors.ts'
export { composeDrafts, type Drafts, type DraftsOptions } from './drafts.ts'
export type { Activatability, ActivationObstacle } from './impact/can-activate.ts'
export type { Holding, ImpactContext } from './impact/context.ts'
export type { Evaluation, EvaluationInputs, EvaluationTrigger } from './impact/evaluation-store.ts'
export type { Evaluator } from './impact/evaluator.ts'
export type { EvaluationWithIssues } from './impact/fresh-evaluation.ts'
export type {
  ActionOffer,
  EntityKind,
  Finding,
  Issue,
  IssueCode,
  IssueReference,
  IssueState,
  Proposal,
  Severity,
  StaleReason,
} from './impact/issue.ts'
export type { EvaluatorRun } from './impact/pipeline.ts'
export {
  defineAction,
  type AnyResolutionAction,
  type Effect,
  type Execution,
  type ExecutionResult,
  type PayloadProblem,
  type ResolutionAction,
  type Situation,
} from './resolutions/action.ts'
export type { ResolutionRequest } from './resolutions/cancel.ts'
export type { ResolutionInput } from './resolutions/check-submission.ts'
export { ResolutionsInvalidError, type ResolutionProblem } from './resolutions/errors.ts'
export { resolutionLifecycle, type ResolutionStatus } from './resolutions/lifecycle.ts'
export { resolutionById } from './resolutions/read.ts'
export { isRetrying, type Resolution } from './resolutions/resolution.ts'
export type { NewStagedEffect, StagedEffect } from './resolutions/staged-effect.ts'
export type { SubmittedResolution } from './resolutions/file-choices.ts'
export type { SubmitResolutionsInput } from './resolutions/submit.ts'
export { bumpDownstream, downstreamClock, type DownstreamClock } from './clock.ts'
export { versionLifecycle, type VersionStatus } from './lifecycles.ts'
export { contentHashOf, type Json } from './model/canonical.ts'
export { draftReminder, type DraftReminderOptions } from './mail/draft-reminder.ts'
export { ORGANISATION_MAIL } from './mail/kinds.ts'
export { type ActivationFailure, planActivationFailedMail } from './mail/activation-failed-mail.ts'
export { loadModel } from './model/load.ts'
export {
  fieldsOf,
  type AttributeSource,
  type DataType,
  type ModelAttribute,
  type ModelSnapshot,
  type ModelValue,
} from './model/model.ts'
export { netChanges, type NetChange, type NetChangeKind } from './model/net-change.ts'
export { organisationUpkeep } from './periodic/upkeep.ts'
export { personKey, type Person, type PersonKey } from './people/person.ts'
export { PeopleInvalidError, type PersonInput, type PersonProblem } from './people/resolve.ts'
export {
  erasePerson,
  importPeople,
  MOST_PEOPLE_PER_IMPORT,
  upsertPerson,
  type PeopleImported,
} from './people/write.ts'
export {
  personaAudience,
  type Audience,
  type PersonaAudience,
  type PersonaAudienceRequest,
} from './personas/audience.ts'
export { PersonaFilterInvalidError, PersonaInvalidError } from './personas/errors.ts'
export { type Persona, type PersonaKind, type PersonaValidity } from './personas/persona.ts'
export { personaById } from './personas/read.ts'
export { personaExtractor } from './personas/references.ts'
export {
  archivePersona,
  createPersona,
  lockPersona,
  updatePersona,
  writePersona,
  type ArchivePersonaInput,
  type CreatePersonaInput,
  type PersonaChanges,
  type PersonaWrite,
  type UpdatePersonaInput,
} from './personas/write.ts'
export { deleteReferences, replaceReferences } from './references/index-table.ts'
export {
  rebuildReferences,
  type ExtractedSource,
  type ReferenceDrift,
  type ReferenceExtractor,
} from './references/rebuild.ts'
export {
  filterReferences,
  type NewReference,
  type Reference,
  type ReferenceRole,
  type ReferenceSource,
  type SourceKind,
  type SourceState,
} from './references/reference.ts'
export {
  addAttribute,
  removeAttribute,
  updateAttribute,
  type AddAttributeInput,
  type AttributeEdited,
  type RemoveAttributeInput,
  type UpdateAttributeInput,
} from './versions/attributes.ts'
export { createDraft, createInitialVersion, type CreateDraftInput } from './versions/create.ts'
export { diffVersions } from './versions/diff.ts'
export type { EditInput } from './versions/edit.ts'
export {
  DraftAlreadyExistsError,
  DraftChangedError,
  ModelImportInvalidError,
  NoDraftError,
  type ImportProblem,
} from './versions/errors.ts'
export { importOrgModel, type ImportOrgModelInput, type OrgModelImported } from './versions/import.ts'
export type { ImportedAttribute, ImportedValue } from './versions/import-plan.ts'
export { lockVersions, type LockedVersion, type LockedVersions } from './versions/lock.ts'
export { activeVersion, modelOf, modelsOf, versionById } from './versions/read.ts'
export {
  addValue,
  removeValue,
  updateValue,
  type AddValueInput,
  type RemoveValueInput,
  type UpdateValueInput,
  type ValueEdited,
} from './versions/values.ts'
export type { OrgModelVersion, VersionSource } from './versions/version.ts'
export { BusyError } from './write-transaction.ts'
