import type { ConditionTree } from '../../domain/conditions/index.ts'
import {
  BlockingIssuesError,
  ModelImportInvalidError,
  PeopleInvalidError,
  PersonaFilterInvalidError,
  ResolutionsInvalidError,
} from '../../domain/organisation/index.ts'
import { UserError } from '../../errors/index.ts'
import { builder } from '../builder.ts'
import { UserErrorInterface } from '../errors/user-errors.ts'
import type { ErrorClass } from '../mutation.ts'
import { inputPathOf } from './persona-filter.ts'

interface Problem {
  readonly path: readonly string[]
  readonly code: string
  readonly message: string
}

interface ItemProblem extends Problem {
  readonly index: number
}

const InputProblem = builder.objectRef<Problem>('InputProblem').implement({
  description: 'One thing that is wrong with an input.',
  fields: (t) => ({
    path: t.expose('path', { type: ['String'], description: 'Where in the `input` it is.' }),
    code: t.exposeString('code', { description: 'Stable code to decide by.' }),
    message: t.exposeString('message', { description: 'What is wrong and what would be right.' }),
  }),
})

const InputItemProblem = builder.objectRef<ItemProblem>('InputItemProblem').implement({
  description: 'One thing that is wrong with one item of a list in an input.',
  fields: (t) => ({
    index: t.exposeInt('index', { description: 'Which item of the list, from 0.' }),
    path: t.expose('path', { type: ['String'], description: 'Where in that item it is.' }),
    code: t.exposeString('code', { description: 'Stable code to decide by.' }),
    message: t.exposeString('message', { description: 'What is wrong and what would be right.' }),
  }),
})

builder.objectType(ModelImportInvalidError, {
  name: 'OrgModelImportInvalidError',
  description: 'The model that was handed in has problems. Nothing was imported.',
  interfaces: [UserErrorInterface],
  fields: (t) => ({
    problems: t.field({ type: [InputProblem], description: 'All of them.', resolve: (error) => error.items }),
  }),
})

builder.objectType(PeopleInvalidError, {
  name: 'PeopleInvalidError',
  description: 'Some people do not fit the active version. Nobody was written.',
  interfaces: [UserErrorInterface],
  fields: (t) => ({
    items: t.field({
      type: [InputItemProblem],
      description: 'What is wrong with whom.',
      resolve: (error) => error.items,
    }),
  }),
})

builder.objectType(ResolutionsInvalidError, {
  name: 'OrgModelResolutionsInvalidError',
  description: 'Some resolutions cannot be accepted. None was.',
  interfaces: [UserErrorInterface],
  fields: (t) => ({
    items: t.field({
      type: [InputItemProblem],
      description: 'What is wrong with which.',
      resolve: (error) => error.items,
    }),
  }),
})

const BlockingIssue = builder
  .objectRef<{ readonly key: string; readonly code: string; readonly message: string }>('OrgModelBlockingIssue')
  .implement({
    description: 'An issue that keeps a draft from being activated.',
    fields: (t) => ({
      key: t.exposeString('key', { description: 'Identity of the issue in the draft.' }),
      code: t.exposeString('code', { description: 'Code of the issue.' }),
      message: t.exposeString('message', { description: 'What the issue is.' }),
    }),
  })

builder.objectType(BlockingIssuesError, {
  name: 'OrgModelBlockingIssuesError',
  description: 'The draft has blocking issues without a completed resolution. It was not activated.',
  interfaces: [UserErrorInterface],
  fields: (t) => ({
    issues: t.field({ type: [BlockingIssue], description: 'Those issues.', resolve: (error) => error.issues }),
  }),
})

/** A persona's filter that cannot be evaluated, told in the places of the API's own input. */
export class PlacedFilterError extends UserError {
  readonly code: string
  readonly problems: readonly Problem[]

  constructor(cause: PersonaFilterInvalidError, tree: ConditionTree) {
    super(cause.message, ['filter'])
    this.code = cause.code
    this.problems = cause.problems.map(({ path, code, message }) => ({
      path: ['filter', ...inputPathOf(tree, path)],
      code,
      message,
    }))
  }
}

builder.objectType(PlacedFilterError, {
  name: 'PersonaFilterInvalidError',
  description: 'The filter cannot be evaluated under the active version. Nothing was written.',
  interfaces: [UserErrorInterface],
  fields: (t) => ({
    problems: t.field({
      type: [InputProblem],
      description: 'Everything that is wrong with it.',
      resolve: (error) => error.problems,
    }),
  }),
})

/** Runs something that may refuse the filter. */
export async function filterProblemsIn<T>(tree: ConditionTree | undefined, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (tree !== undefined && error instanceof PersonaFilterInvalidError) {
      throw new PlacedFilterError(error, tree)
    }
    throw error
  }
}

export const IMPORT_ERRORS: readonly ErrorClass[] = [ModelImportInvalidError]
export const PEOPLE_ERRORS: readonly ErrorClass[] = [PeopleInvalidError]
export const FILTER_ERRORS: readonly ErrorClass[] = [PlacedFilterError]
export const RESOLUTION_ERRORS: readonly ErrorClass[] = [ResolutionsInvalidError]
export const ACTIVATION_ERRORS: readonly ErrorClass[] = [BlockingIssuesError]
