/** Prints a measured value, as a script can read it. */
export function figure(name: string, value: number, unit: string): void {
  console.log(`figure ${name} ${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ${unit}`)
}

/** Prints how one value compares with its rival's, measured in the same run. */
export function ratio(name: string, value: number): void {
  console.log(`ratio ${name} ${value.toFixed(2)}`)
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
