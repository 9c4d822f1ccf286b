import type { Employee, Numeric, Select } from './employees.ts'

/** A filter as a person would say it; main.ts puts the model's ids in. */
export type Wish =
  | { readonly and: readonly Wish[] }
  | { readonly or: readonly Wish[] }
  | { readonly not: Wish }
  | { readonly attribute: Select; readonly in: readonly string[] }
  | { readonly attribute: Numeric; readonly between: readonly [number, number] }
  | { readonly attribute: Numeric; readonly gt: number }

export interface PersonaWish {
  readonly name: string
  readonly filter: Wish
}

export const PERSONAS: readonly PersonaWish[] = [
  {
    name: 'Sales on the road',
    filter: {
      and: [
        { attribute: 'Department', in: ['Sales'] },
        { attribute: 'BusinessTravel', in: ['Travel_Frequently', 'Travel_Rarely'] },
      ],
    },
  },
  {
    name: 'Bench research',
    filter: {
      and: [
        { attribute: 'Department', in: ['Research & Development'] },
        { not: { attribute: 'JobRole', in: ['Manager', 'Research Director'] } },
      ],
    },
  },
  {
    name: 'Stretched commuters',
    filter: {
      and: [
        { attribute: 'DistanceFromHome', between: [20, 30] },
        { attribute: 'OverTime', in: ['Yes'] },
      ],
    },
  },
  {
    name: 'Newcomers',
    filter: {
      or: [
        { attribute: 'YearsAtCompany', between: [0, 2] },
        { and: [{ attribute: 'JobLevel', in: ['1'] }, { not: { attribute: 'TotalWorkingYears', gt: 10 } }] },
      ],
    },
  },
  {
    name: 'Seasoned specialists',
    filter: {
      or: [
        {
          and: [
            { attribute: 'EducationField', in: ['Technical Degree', 'Medical'] },
            { attribute: 'JobLevel', in: ['4', '5'] },
          ],
        },
        {
          and: [
            { attribute: 'TotalWorkingYears', gt: 20 },
            { attribute: 'BusinessTravel', in: ['Travel_Frequently'] },
          ],
        },
      ],
    },
  },
  {
    name: 'HR without overtime',
    filter: {
      and: [{ attribute: 'Department', in: ['Human Resources'] }, { not: { attribute: 'OverTime', in: ['Yes'] } }],
    },
  },
]

/**
 * What the file must be asked for when the draft is active, where that is another question than before: the file
 * still says OverTime, and still says who travelled frequently.
 */
export const AFTER_ACTIVATION: Readonly<Record<string, Wish>> = {
  'Stretched commuters': { and: [{ attribute: 'DistanceFromHome', between: [20, 30] }] },
  'Seasoned specialists': {
    or: [
      {
        and: [
          { attribute: 'EducationField', in: ['Technical Degree', 'Medical'] },
          { attribute: 'JobLevel', in: ['4', '5'] },
        ],
      },
      {
        and: [
          { attribute: 'TotalWorkingYears', gt: 20 },
          { attribute: 'BusinessTravel', in: ['Travel_Frequently', 'Travel_Rarely'] },
        ],
      },
    ],
  },
  'HR without overtime': { and: [{ attribute: 'Department', in: ['Human Resources'] }] },
}

/** Counts the file directly, without Regie: the demo's yardstick. */
export const directCount = (employees: readonly Employee[], wish: Wish): number =>
  employees.filter((employee) => holds(employee, wish)).length

function holds(employee: Employee, wish: Wish): boolean {
  if ('and' in wish) return wish.and.every((item) => holds(employee, item))
  if ('or' in wish) return wish.or.some((item) => holds(employee, item))
  if ('not' in wish) return !holds(employee, wish.not)
  if ('in' in wish) return wish.in.includes(employee[wish.attribute])
  const number = Number(employee[wish.attribute])
  return 'gt' in wish ? number > wish.gt : number >= wish.between[0] && number <= wish.between[1]
}
