import type { Lifecycle } from '../transitions/index.ts'
import { builder } from './builder.ts'

/** The statuses of a lifecycle as an enum that describes each with the lifecycle's own words. */
export function lifecycleEnum<Status extends string>(name: string, description: string, lifecycle: Lifecycle<Status>) {
  const statuses = Object.entries(lifecycle.statuses) as [Status, { description: string; terminal?: boolean }][]
  const values = statuses.map(([status, { description, terminal }]) => [
    status,
    { description: terminal === true ? `${description} Final.` : description },
  ])
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(values) as Record<Status, { description: string }>,
  })
}

/** An enum of plain values, each with its description. */
export function describedEnum<Value extends string>(
  name: string,
  description: string,
  values: Readonly<Record<Value, string>>,
) {
  const described = Object.entries<string>(values).map(([value, description]) => [value, { description }])
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(described) as Record<Value, { description: string }>,
  })
}
