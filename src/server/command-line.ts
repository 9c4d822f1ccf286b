import { StartupError } from '../database/index.ts'

const ROLE_FLAG = '--role'

/** The environment with what the command line says: `--role api`, `--role=worker`. @throws StartupError */
export function withArguments(
  environment: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
): Record<string, string | undefined> {
  const all = { ...environment }
  for (let index = 0; index < args.length; index++) {
    const [name, value] = args[index]!.split('=', 2)
    if (name !== ROLE_FLAG)
      throw new StartupError(
        `The argument "${args[index]}" means nothing here.`,
        `The only one is ${ROLE_FLAG}; everything else is set by environment variables.`,
        'See docs/operating.md. For example: npm start -- --role worker',
      )
    all['REGIE_ROLE'] = value ?? args[++index] ?? ''
  }
  return all
}

/** What did not work, why, and what to do: three sentences and no stack. Anything else is a fault of ours. */
export function printFailure(error: unknown, print: (line: string) => void): void {
  if (error instanceof StartupError) {
    print(`${error.what} ${error.why}`)
    print(error.next)
    return
  }
  print('Regie could not start, for a reason that it did not expect:')
  print(error instanceof Error ? (error.stack ?? error.message) : String(error))
}
