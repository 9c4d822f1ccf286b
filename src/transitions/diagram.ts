import type { Lifecycle } from './lifecycle.ts'

/** The lifecycle as a Mermaid state diagram, for docs/. */
export function lifecycleDiagram<Status extends string>({ statuses, pairs }: Lifecycle<Status>): string {
  const ends = (Object.keys(statuses) as Status[]).filter((status) => statuses[status].terminal === true)
  return [
    'stateDiagram-v2',
    ...pairs.map(({ from, to, when }) => `  ${from ?? '[*]'} --> ${to}: ${when.replaceAll(/[:;\n]+/g, ',')}`),
    ...ends.map((status) => `  ${status} --> [*]`),
  ].join('\n')
}
