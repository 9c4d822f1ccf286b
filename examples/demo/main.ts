import {
  ActivateOrgModelDraftDocument,
  OrgModelResolutionsDocument,
  UpdatePersonaDocument,
  unwrap,
  type IssueFieldsFragment,
  type PersonaFieldsFragment,
  type ResolutionFieldsFragment,
} from '../../client/src/index.ts'
import { StartupError } from '../../src/database/index.ts'
import { activationCheck, choose, evaluate, LEAVING_ATTRIBUTE, LEAVING_VALUE, openDraft, submit } from './draft.ts'
import { readEmployees } from './employees.ts'
import { audiences, createPersonas, filterOf, importModel, importPeople } from './organisation.ts'
import { AFTER_ACTIVATION, directCount, PERSONAS, type Wish } from './personas.ts'
import * as report from './report.ts'
import { setStage, type Stage } from './stage.ts'
import { holdPersonas } from './trouble.ts'
import { replay, Watch, type Change, type Seen } from './watch.ts'

// The main job of Regie on real people, over the network: change the organisation model in a draft, see what that
// would break, have it repaired, and activate. With trouble on the way, and a subscription that loses nothing.

/** The two whose rows somebody holds; the second also changes while its resolution waits. */
const HELD = ['Stretched commuters', 'HR without overtime'] as const
const CHANGES_MEANWHILE: Wish = { attribute: 'OverTime', in: ['No', 'Yes'] }

async function tell(stage: Stage): Promise<void> {
  const { client } = stage
  report.say(`        ${stage.address}/graphql, tenant "${stage.tenantName}"`)

  report.chapter('The organisation')
  const employees = readEmployees()
  const model = await importModel(client, employees)
  const created = await importPeople(client, employees)
  const personas = await createPersonas(client, model)
  report.say(`        ${created} people, 6 selects, 4 numbers, ${personas.size} personas`)
  report.expectation(created === employees.length, `all ${employees.length} people of the file are in`)
  const before = await audiences(client, personas)
  compare('Audiences under the active version, and counted over the file', before, (wish) => wish)

  report.chapter('A draft')
  await openDraft(client, model)
  report.say(`        − value      ${LEAVING_VALUE.attribute} "${LEAVING_VALUE.from}"`)
  report.say(`        − attribute  ${LEAVING_ATTRIBUTE}`)
  report.say('        ~ label      Department → "Business unit"')
  report.say('        + attribute  Place of work (Office, Home, Both)')

  report.chapter('What it would break')
  const impact = await evaluate(client)
  const blocking = impact.issues.filter((issue) => issue.severity === 'BLOCKING')
  for (const issue of blocking) showIssue(issue)
  report.expectation(blocking.length === 6, `6 blocking issues: 4 personas, 2 times what people hold`)
  report.expectation(!impact.activationCheck.canActivate, 'the draft cannot be activated')

  report.chapter('Resolutions, watched live over WebSocket')
  const firstCursor = impact.eventCursor
  const watch = new Watch(client, firstCursor, showChange)
  await watch.open()
  const issueOf = (persona: string): IssueFieldsFragment => {
    const issue = blocking.find((candidate) => candidate.affectedEntityLabel === persona)
    if (issue === undefined) throw new Error(`"${persona}" has no blocking issue.`)
    return issue
  }
  const heldKeys = HELD.map((name) => issueOf(name).key)
  const [succeeding, failing] = heldKeys as [string, string]

  const statusOf = (key: string) => watch.latest.get(key)?.status
  const free = blocking.filter((issue) => !heldKeys.includes(issue.key))
  const choices = (issues: readonly IssueFieldsFragment[]) => issues.map((issue) => choose(issue, model))
  await submit(client, choices(free))
  await watch.until(() => free.every(({ key }) => statusOf(key) === 'COMPLETED'), 'the four that nobody holds')
  report.expectation(true, 'four resolutions completed')

  report.chapter('Trouble: somebody holds the rows of two personas')
  const rows = HELD.map((name) => personaOf(personas, name).uuid)
  const hold = await holdPersonas(stage.databaseUrl, rows)
  try {
    report.say(report.yellow(`        held: ${HELD.map((name) => `"${name}"`).join(' and ')}`))
    await submit(client, choices(blocking.filter((issue) => heldKeys.includes(issue.key))))
    await untilResolutions(
      stage,
      heldKeys,
      'the lock time-out',
      ({ status, attempt }) => status === 'PENDING' && attempt === 1,
    )
  } finally {
    await hold.release()
  }
  report.say('        let go; the log waited for the open transaction, so that nothing is told out of order:')
  const returned = (key: string) => statusOf(key) === 'PENDING' && watch.latest.get(key)?.attempt === 1
  await watch.until(() => heldKeys.every(returned), 'the two that were held to be given back')
  report.expectation(true, 'both went back to Pending, with their next attempt planned')

  report.chapter('The subscription is dropped; meanwhile one persona changes')
  await watch.drop()
  const seenBefore = watch.seen.length
  const changing = personaOf(personas, HELD[1])
  const wish = PERSONAS.find(({ name }) => name === HELD[1])!.filter
  const filter = filterOf(model, { and: [wish, CHANGES_MEANWHILE] })
  const change = { personaId: changing.id, expectedRevision: changing.revision, filter }
  unwrap((await client.mutate(UpdatePersonaDocument, { input: change })).updatePersona)
  report.say(`        "${HELD[1]}" now refers to ${LEAVING_ATTRIBUTE} twice`)
  await untilResolutions(stage, heldKeys, 'the retry', ({ status }) => status === 'COMPLETED' || status === 'FAILED')

  report.chapter('The subscription resumes at its last cursor')
  await watch.open()
  report.say(`        ${watch.seen.length - seenBefore} events were told that happened while nobody listened`)
  report.expectation(statusOf(succeeding) === 'COMPLETED', `"${HELD[0]}" succeeded on its retry`)
  const failed = watch.latest.get(failing)
  report.expectation(failed?.status === 'FAILED', `"${HELD[1]}" failed: ${failed?.errorCode}`)

  report.chapter('Submitted again, on the issue as it is now')
  const again = (await evaluate(client)).issues.find((issue) => issue.key === failing)
  if (again === undefined) throw new Error(`The issue of "${HELD[1]}" is gone.`)
  await submit(client, [choose(again, model)])
  await watch.until(() => statusOf(failing) === 'COMPLETED', 'the second submission')

  report.chapter('Activation')
  const check = await activationCheckTurnsTrue(stage)
  report.expectation(check.canActivate, 'canActivate is true')
  const { contentRevision } = (await evaluate(client)).evaluation
  const activated = unwrap(
    (await client.mutate(ActivateOrgModelDraftDocument, { input: { expectedContentRevision: contentRevision } }))
      .activateOrgModelDraft,
  )
  report.say(`        version ${activated.version.number} is active, in ${activated.durationMs} ms`)
  const after = await audiences(client, personas)
  compare('Audiences after, and the same people counted over the file', after, (wish, name) =>
    Object.hasOwn(AFTER_ACTIVATION, name) ? AFTER_ACTIVATION[name]! : wish,
  )
  report.table(
    ['persona', 'before', 'after'],
    PERSONAS.map(({ name }) => [name, before.get(name) ?? 0, after.get(name) ?? 0]),
  )

  report.chapter('Nothing missed, nothing twice')
  await watch.until(() => watch.seen.some(({ subject }) => subject === activated.version.uuid), 'the activation')
  const log = await replay(client, firstCursor)
  await watch.until(() => watch.seen.length >= log.length, 'the rest of the log')
  await watch.drop()
  report.say(
    `        ${watch.seen.length} events over two connections; the log, read anew over SSE, holds ${log.length}`,
  )
  report.expectation(sameOrder(watch.seen, log), 'the same events in the same order, each once')

  function compare(title: string, counts: ReadonlyMap<string, number>, expected: (wish: Wish, name: string) => Wish) {
    report.say(`        ${title}:`)
    const rows = PERSONAS.map(({ name, filter: own }) => ({
      name,
      regie: counts.get(name) ?? -1,
      file: directCount(employees, expected(own, name)),
    }))
    report.table(
      ['persona', 'Regie', 'file'],
      rows.map(({ name, regie, file }) => [name, regie, file]),
    )
    report.expectation(
      rows.every(({ regie, file }) => regie === file),
      'every audience equals the direct count',
    )
  }
}

function personaOf(personas: ReadonlyMap<string, PersonaFieldsFragment>, name: string): PersonaFieldsFragment {
  const persona = personas.get(name)
  if (persona === undefined) throw new Error(`There is no persona "${name}".`)
  return persona
}

function showIssue(issue: IssueFieldsFragment): void {
  report.say(`        ${report.red('●')} ${report.bold(issue.code)}  ${issue.affectedEntityLabel ?? ''}`)
  report.say(`          ${issue.message}`)
  const offers = issue.availableActions.map((action) =>
    action.isRecommended ? `${action.actionType} (recommended)` : action.actionType,
  )
  report.say(report.dim(`          offered: ${offers.join(', ')}`))
}

const PAINT = { PENDING: report.yellow, PROCESSING: report.cyan, COMPLETED: report.green, FAILED: report.red }
const nameOf = (status: string): string => status.charAt(0) + status.slice(1).toLowerCase()

function showChange(change: Change, live: boolean): void {
  const paint = Object.hasOwn(PAINT, change.status) ? PAINT[change.status as keyof typeof PAINT] : report.bold
  const from = change.previousStatus === null ? '' : `${nameOf(change.previousStatus)} → `
  const attempt =
    change.attempt === null || change.attempt === 0 ? '' : `attempt ${change.attempt} of ${change.maxAttempts}`
  const notes = [
    attempt,
    change.errorCode ?? '',
    change.nextAttemptAt === null ? '' : `next in ${secondsUntil(change.nextAttemptAt)} s`,
    live ? `${change.latencyMs} ms` : 'replayed',
  ]
  const label = (change.affectedEntityLabel ?? change.issueKey ?? '').padEnd(22)
  const move = `${from}${paint(nameOf(change.status))}`
  const width = `${from}${nameOf(change.status)}`.length
  report.say(
    `        ${label} ${move}${' '.repeat(Math.max(1, 26 - width))}${report.dim(notes.filter(Boolean).join(', '))}`,
  )
}

const secondsUntil = (moment: string): string => ((new Date(moment).getTime() - Date.now()) / 1000).toFixed(0)

/** Asks, as a client without a subscription must, until all of these resolutions are as wanted. */
async function untilResolutions(
  stage: Stage,
  keys: readonly string[],
  what: string,
  wanted: (resolution: ResolutionFieldsFragment) => boolean,
): Promise<void> {
  const end = performance.now() + LONGEST_WAIT_MS
  while (performance.now() < end) {
    const { orgModelDraft } = await stage.client.query(OrgModelResolutionsDocument, { first: 50 })
    const asked = (orgModelDraft?.resolutions.nodes ?? []).filter(({ issueKey }) => keys.includes(issueKey))
    const left = asked.filter((resolution) => !wanted(resolution))
    if (asked.length === keys.length && left.length === 0) return
    const due = left.flatMap(({ nextAttemptAt }) => (nextAttemptAt === null ? [] : [secondsUntil(nextAttemptAt)]))
    report.progress(`        waiting for ${what}${due.length === 0 ? '' : `, due in ${due[0]} s`}`)
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS))
  }
  throw new Error(`Waited ${LONGEST_WAIT_MS / 1000} s in vain for ${what}.`)
}

const LONGEST_WAIT_MS = 60_000
const ASK_AGAIN_MS = 250

/** The check is made anew when something changed; what the last job wrote may be a moment old. */
async function activationCheckTurnsTrue(stage: Stage) {
  await evaluate(stage.client)
  return activationCheck(stage.client)
}

const sameOrder = (left: readonly Seen[], right: readonly Seen[]): boolean =>
  left.length === right.length &&
  left.every(({ subject, sequence }, i) => subject === right[i]?.subject && sequence === right[i]?.sequence)

const STOPPED_BY_HAND = 130

async function run(): Promise<number> {
  report.say(report.bold('Regie: the main job, on 1,470 people'))
  let stage: Stage | null = null
  let stopped = false
  const stop = (): void => {
    stopped = true
    void stage?.close()
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    report.chapter('The server')
    stage = await setStage()
    if (!stopped) await tell(stage)
  } catch (error) {
    if (!stopped) report.expectation(false, reasonOf(error))
  } finally {
    await stage?.close()
  }
  if (stopped) {
    report.say('Stopped.')
    return STOPPED_BY_HAND
  }
  const unmet = report.unmet()
  const verdict = 'verything promised was seen'
  report.chapter(unmet.length === 0 ? report.green(`E${verdict}`) : report.red(`Not e${verdict}`))
  for (const promise of unmet) report.say(`        ${report.red('✗')} ${promise}`)
  return unmet.length === 0 ? 0 : 1
}

const reasonOf = (error: unknown): string =>
  error instanceof StartupError ? `${error.what} ${error.why} ${error.next}` : String(error)

process.exitCode = await run()
