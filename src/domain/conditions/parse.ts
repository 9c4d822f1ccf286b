import { z } from 'zod'
import { isStorable } from '../../database/index.ts'
import { ConditionsInvalidError, type ConditionProblem } from './problem.ts'
import { pointer, type ConditionTree } from './tree.ts'

/** How large a tree may be. Wide enough for every real filter, small enough to compile to one statement. */
export const LIMITS = { depth: 12, nodes: 500, valuesPerCondition: 1_000, textLength: 400 } as const

/**
 * Reads a tree from outside. Strict: an unknown key, an empty group or a comparison with the wrong operands is
 * refused, and every problem carries the JSON pointer to it.
 * @throws ConditionsInvalidError
 */
export function parseConditions(json: unknown): ConditionTree {
  // Before zod, whose recursion would follow a hostile tree as deep as it goes.
  const tooLarge = sizeProblem(json)
  if (tooLarge !== null) throw new ConditionsInvalidError([tooLarge])
  const parsed = tree.safeParse(json)
  if (parsed.success) return parsed.data
  throw new ConditionsInvalidError(
    parsed.error.issues.map(({ path, message }) => ({
      path: pointer('', ...path.map((step) => (typeof step === 'symbol' ? String(step) : step))),
      code: 'shape',
      message: message.endsWith('.') ? message : `${message}.`,
    })),
  )
}

function sizeProblem(json: unknown): ConditionProblem | null {
  const open: { node: unknown; path: string; depth: number }[] = [{ node: json, path: '', depth: 1 }]
  let nodes = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, path, depth } = next
    if (++nodes > LIMITS.nodes) {
      return { path: '', code: 'too_large', message: `A tree has at most ${LIMITS.nodes} conditions and groups.` }
    }
    if (depth > LIMITS.depth) {
      return { path, code: 'too_large', message: `A tree is at most ${LIMITS.depth} levels deep.` }
    }
    if (typeof node !== 'object' || node === null) continue
    if ('item' in node) open.push({ node: node.item, path: pointer(path, 'item'), depth: depth + 1 })
    if ('items' in node && Array.isArray(node.items)) {
      node.items.forEach((item: unknown, index) =>
        open.push({ node: item, path: pointer(path, 'items', index), depth: depth + 1 }),
      )
    }
  }
  return null
}

const storable = z.string().min(1).refine(isStorable, 'Holds a character that cannot be stored.')
const name = storable.max(200)
const text = storable.max(LIMITS.textLength)
const op = z.literal('cond')
const choices = z
  .array(name)
  .min(1)
  .max(LIMITS.valuesPerCondition)
  .refine((values) => new Set(values).size === values.length, 'Names a value twice.')
const inOrder = ([low, high]: readonly [string | number, string | number]) => low <= high
const range = z.union([z.tuple([z.number(), z.number()]), z.tuple([text, text])]).refine(inOrder, {
  message: 'The lower bound stands after the upper one.',
})

const condition = z.discriminatedUnion('cmp', [
  z.strictObject({ op, field: name, cmp: z.enum(['in', 'notIn', 'descendantOf']), values: choices }),
  z.strictObject({ op, field: name, cmp: z.enum(['isSet', 'isNotSet']) }),
  z.strictObject({ op, field: name, cmp: z.literal('eq'), literal: z.union([text, z.number(), z.boolean()]) }),
  z.strictObject({ op, field: name, cmp: z.enum(['lt', 'gt']), literal: z.union([text, z.number()]) }),
  z.strictObject({ op, field: name, cmp: z.literal('contains'), literal: text }),
  z.strictObject({ op, field: name, cmp: z.literal('between'), literal: range }),
])

const tree: z.ZodType<ConditionTree> = z.lazy(() =>
  z.discriminatedUnion('op', [
    z.strictObject({ op: z.enum(['and', 'or']), items: z.array(tree).min(1) }),
    z.strictObject({ op: z.literal('not'), item: tree }),
    condition,
  ]),
)
