import {
  composeDrafts,
  defineAction,
  type Drafts,
  type DraftsOptions,
  type Evaluator,
  type Execution,
  type ExecutionResult,
} from '../../src/domain/organisation/index.ts'
import { statement } from '../../src/database/index.ts'

/** What a test decides about its two actions while they run. */
export interface Hooks {
  execute(which: string, execution: Execution): Promise<ExecutionResult>
}

export const KEY = 'test.found:'

/** Finds one general thing in every draft that changes something. */
export const finds: Evaluator = {
  code: 'test',
  version: 1,
  codes: { 'test.found': { severity: 'BLOCKING', entity: null, description: 'A test found something.' } },
  proposes: ['test.one', 'test.two', 'test.staged'],
  evaluate: ({ changes }) =>
    changes.length === 0
      ? []
      : [
          {
            code: 'test.found',
            entityId: null,
            entityLabel: 'Something',
            changes,
            references: [],
            affectedCount: null,
            message: 'Something was found.',
            proposals: ['test.one', 'test.two', 'test.staged'].map((actionType) => ({ actionType })),
          },
        ],
}

/**
 * Drafts with two actions that do what the test says and leave a trace in the table `test_effect`, in the very
 * transaction that completes the resolution.
 */
export function controlled(hooks: Hooks, options: DraftsOptions = {}): Drafts {
  const act = (actionType: string, effect: 'ACKNOWLEDGE' | 'STAGED') =>
    defineAction({
      actionType,
      label: 'Do it',
      effect,
      destructive: false,
      exclusive: false,
      requiresAffectedEntity: false,
      shape: {},
      check: () => [],
      async execute(_, execution) {
        await execution.tx.query(LEAVE, [actionType, execution.attempt])
        return hooks.execute(actionType, execution)
      },
    })
  return composeDrafts({
    retryDelaysMs: [0, 0, 0],
    lockTimeoutMs: 200,
    evaluators: [finds],
    actions: [act('test.one', 'ACKNOWLEDGE'), act('test.two', 'ACKNOWLEDGE'), act('test.staged', 'STAGED')],
    ...options,
  })
}

export const DONE: ExecutionResult = { kind: 'DONE', affected: 1, effects: [] }

export const MAKE_TRACE = `create table test_effect (tenant_id uuid not null, who text not null, attempt int not null)`

const LEAVE = statement<unknown>(
  'test.effect.leave',
  'insert into test_effect (tenant_id, who, attempt) values ($1::uuid, $2, $3::int)',
)
