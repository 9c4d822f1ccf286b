const terminal = process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined
const paint = (code: number) => (text: string) => (terminal ? `\u001b[${code}m${text}\u001b[0m` : text)

export const bold = paint(1)
export const dim = paint(2)
export const red = paint(31)
export const green = paint(32)
export const yellow = paint(33)
export const cyan = paint(36)

const started = performance.now()
let progressShown = false

/** One line of the story. */
export function say(text = ''): void {
  clearProgress()
  process.stdout.write(`${text}\n`)
}

/** The head of a chapter, with the time since the start. */
export function chapter(title: string): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(5)
  say()
  say(`${dim(`${seconds} s`)}  ${bold(title)}`)
}

/** A line that is overwritten by the next one; nothing at all in a pipe. */
export function progress(text: string): void {
  if (!terminal) return
  process.stdout.write(`\r\u001b[2K${dim(text)}`)
  progressShown = true
}

function clearProgress(): void {
  if (progressShown) process.stdout.write('\r\u001b[2K')
  progressShown = false
}

const failures: string[] = []

/** Something the demo promises. An unmet one is shown at once and makes the exit code 1. */
export function expectation(met: boolean, promise: string): void {
  say(`        ${met ? green('✓') : red('✗')} ${promise}`)
  if (!met) failures.push(promise)
}

export const unmet = (): readonly string[] => failures

/** Seconds since the demo began. */
export const elapsedSeconds = (): number => (performance.now() - started) / 1000

/** A plain table with left-aligned text and right-aligned numbers. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const cells = rows.map((row) => row.map(String))
  const widths = head.map((title, i) => Math.max(title.length, ...cells.map((row) => row[i]?.length ?? 0)))
  const line = (row: readonly string[], numeric: readonly boolean[]) =>
    row
      .map((cell, i) => (numeric[i] === true ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('   ')
  const numeric = head.map((_, i) => rows.every((row) => typeof row[i] === 'number'))
  say(`        ${dim(line(head, numeric))}`)
  for (const row of cells) say(`        ${line(row, numeric)}`.trimEnd())
}
