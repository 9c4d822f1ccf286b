import { expect, test } from 'vitest'
import { defineSchedule, nextFirings } from '../../src/jobs/index.ts'
import { CHANGES, checkQuarters, checkTimesOfDay, DAY, HOUR, type Rules, timing } from './schedules-zones.ts'
import { testJob } from './support.ts'

const firings = (cron: string, zone: string, after: string, count: number, rules: Rules = {}) =>
  nextFirings(timing(cron, zone, rules), new Date(after), count).map(({ local, dst }) =>
    dst === null ? local : `${local} ${dst}`,
  )

test('pain 25 the changes of clocks are those of the tz database', () => {
  const of = (zone: string, year: number) =>
    CHANGES.filter((change) => change.zone === zone && new Date(change.at).getUTCFullYear() === year).map(
      ({ at, before, after }) => `${new Date(at).toISOString()} ${before / HOUR} ${after / HOUR}`,
    )
  expect(of('Europe/Amsterdam', 2026)).toEqual(['2026-03-29T01:00:00.000Z 1 2', '2026-10-25T01:00:00.000Z 2 1'])
  expect(of('Australia/Lord_Howe', 2026)).toEqual([
    '2026-04-04T15:00:00.000Z 11 10.5',
    '2026-10-03T15:30:00.000Z 10.5 11',
  ])
  expect(of('Pacific/Apia', 2011)).toContain('2011-12-30T10:00:00.000Z -10 14')
  expect(of('Asia/Kathmandu', 2026)).toEqual([])
  expect(CHANGES.length).toBeGreaterThan(800)
  // What Zone relies on: none is within two days of another, none skips or repeats more than a day.
  for (const [index, { zone, at, before, after }] of CHANGES.entries()) {
    expect(Math.abs(after - before)).toBeLessThanOrEqual(DAY)
    const previous = CHANGES[index - 1]
    if (previous?.zone === zone) expect(at - previous.at).toBeGreaterThan(2 * DAY)
  }
})

/** A year with odd changes and one with the usual ones; `schedules-zones.long.test.ts` takes all fifty. */
const SOME = CHANGES.filter(({ at }) => [2011, 2026].includes(new Date(at).getUTCFullYear()))

test('pain 25 at every change of two years: each local time as an independent count says', () => {
  expect(SOME.length).toBeGreaterThan(30)
  checkTimesOfDay(SOME)
})

test('pain 25 every quarter of an hour goes on at every change of two years', () => checkQuarters(SOME))

test('a local time that is skipped: right after, once, or not at all', () => {
  const amsterdam = (cron: string, rules?: Rules) => firings(cron, 'Europe/Amsterdam', '2026-03-28T12:00:00Z', 2, rules)
  expect(amsterdam('30 2 * * *')).toEqual(['2026-03-29T03:00:00+02:00 AFTER_GAP', '2026-03-30T02:30:00+02:00'])
  expect(amsterdam('30 2 * * *', { dstGap: 'SKIP' })).toEqual([
    '2026-03-30T02:30:00+02:00 GAP_SKIPPED',
    '2026-03-31T02:30:00+02:00',
  ])
  // Four times were skipped, one run makes up for them.
  expect(amsterdam('*/15 2 * * *')).toEqual(['2026-03-29T03:00:00+02:00 AFTER_GAP', '2026-03-30T02:00:00+02:00'])
  // The time right after is one of its own: not two.
  expect(amsterdam('0 2,3 * * *')).toEqual(['2026-03-29T03:00:00+02:00 AFTER_GAP', '2026-03-30T02:00:00+02:00'])
})

test('a local time that comes twice: once, or twice; asked in between, the second pass is not a first one', () => {
  const after = '2026-10-24T12:00:00Z'
  expect(firings('30 2 * * *', 'Europe/Amsterdam', after, 2)).toEqual([
    '2026-10-25T02:30:00+02:00 FIRST_OF_TWO',
    '2026-10-26T02:30:00+01:00',
  ])
  expect(firings('30 2 * * *', 'Europe/Amsterdam', after, 3, { dstOverlap: 'TWICE' })).toEqual([
    '2026-10-25T02:30:00+02:00 FIRST_OF_TWO',
    '2026-10-25T02:30:00+01:00 SECOND_OF_TWO',
    '2026-10-26T02:30:00+01:00',
  ])
  expect(firings('30 2 * * *', 'Europe/Amsterdam', '2026-10-25T01:10:00Z', 1)).toEqual(['2026-10-26T02:30:00+01:00'])
})

test('odd changes: half an hour, a whole day, midnight', () => {
  expect(firings('15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T20:00:00Z', 2)).toEqual([
    '2026-10-04T02:30:00+11:00 AFTER_GAP',
    '2026-10-05T02:15:00+11:00',
  ])
  expect(firings('0 9 * * *', 'Pacific/Apia', '2011-12-29T20:00:00Z', 2)).toEqual([
    '2011-12-31T00:00:00+14:00 AFTER_GAP',
    '2011-12-31T09:00:00+14:00',
  ])
  expect(firings('0 0 * * *', 'America/Sao_Paulo', '2018-11-03T12:00:00Z', 2)).toEqual([
    '2018-11-04T01:00:00-02:00 AFTER_GAP',
    '2018-11-05T00:00:00-02:00',
  ])
  expect(firings('30 2 * * *', 'Asia/Kathmandu', '2026-01-01T00:00:00Z', 1)).toEqual(['2026-01-02T02:30:00+05:45'])
})

test('a preview is twenty firings with words about the changes of clocks, and fewer when there are no more', () => {
  const preview = nextFirings(timing('30 2 * * 0', 'Europe/Amsterdam'), new Date('2026-03-01T12:00:00Z'))
  expect(preview).toHaveLength(20)
  expect(preview[3]).toEqual({
    at: new Date('2026-03-29T01:00:00Z'),
    local: '2026-03-29T03:00:00+02:00',
    dst: 'AFTER_GAP',
    note: '2026-03-29 02:30:00 does not exist in Europe/Amsterdam; it runs right after, once.',
  })
  expect(nextFirings({ ...timing('', 'UTC'), everyMs: 60_000, cron: null }, new Date(59_999), 2)).toMatchObject([
    { local: '1970-01-01T00:01:00+00:00' },
    { local: '1970-01-01T00:02:00+00:00' },
  ])
})

const job = testJob('test.scheduled')

test.each<[string, object, string | RegExp]>([
  ['a zone that is none', { cron: '0 2 * * *', timeZone: 'Europe/Atlantis' }, '"Europe/Atlantis" is no time zone'],
  ['a cron that is none', { cron: 'often' }, 'five fields, or six'],
  ['a minute that is none', { cron: '61 * * * *' }, /"61 \* \* \* \*" cannot be read: .*minute/],
  ['a date', { cron: '2026-01-01T00:00:00' }, 'five fields, or six'],
  ['a question mark', { cron: '? 2 * * *' }, 'write "*"'],
  ['a cron that never fires', { cron: '0 0 30 2 *' }, 'never fires'],
  ['both', { cron: '0 2 * * *', everyMs: 60_000 }, 'both `everyMs` and `cron`'],
  ['none', {}, 'neither `everyMs` nor `cron`'],
  ['too often', { everyMs: 10 }, 'from 1000 to 2147483647'],
  ['an interval in a zone', { everyMs: 60_000, timeZone: 'Europe/Amsterdam' }, '`timeZone` means nothing'],
  ['all missed runs, one at a time', { everyMs: 60_000, missed: 'RUN_ALL' }, 'overlap: ALLOW'],
  ['a limit of nothing', { everyMs: 60_000, missedLimit: 3 }, 'any other policy'],
  ['a limit that is none', { everyMs: 60_000, missed: 'RUN_ALL', overlap: 'ALLOW', missedLimit: 0 }, 'from 1 to 100'],
  [
    'a payload that is none',
    { everyMs: 60_000, payload: { n: 'x' } },
    'its payload is not what "test.scheduled" takes',
  ],
  ['a name that is none', { everyMs: 60_000, name: 'Nightly!' }, '`area.action`'],
])('J78 %s is refused with a reason', (_, own, reason) => {
  expect(() => defineSchedule({ name: 'test.nightly', job, payload: { n: 1 }, ...own })).toThrow(reason)
})

test('J78 everything that is wrong is said at once', () => {
  expect(() =>
    defineSchedule({ name: 'Nightly', job, payload: { n: 1 }, cron: 'x', timeZone: 'Mars/Base', missedLimit: 2 }),
  ).toThrow(/area\.action[^]*"x"[^]*Mars\/Base[^]*missedLimit/)
})

test('a job that tells its domain of endings is refused where a run may give way in silence', () => {
  const telling = testJob('test.telling', { onOutcome: async () => {} })
  const options = { name: 'test.telling', job: telling, payload: { n: 1 }, everyMs: 60_000 }
  expect(() => defineSchedule(options)).toThrow('onOutcome')
  expect(defineSchedule({ ...options, overlap: 'ALLOW' }).overlap).toBe('ALLOW')
})
