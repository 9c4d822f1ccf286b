import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'csv-parse/sync'

/** One line of the file; every cell as text. */
export type Employee = Readonly<Record<Column, string>>

export const SELECTS = ['Department', 'JobRole', 'JobLevel', 'EducationField', 'BusinessTravel', 'OverTime'] as const
export const NUMBERS = ['DistanceFromHome', 'YearsAtCompany', 'YearsInCurrentRole', 'TotalWorkingYears'] as const
export type Select = (typeof SELECTS)[number]
export type Numeric = (typeof NUMBERS)[number]
type Column = 'EmployeeNumber' | Select | Numeric

/** The 1,470 people of the file beside this demo; its origin stands in examples/data/README.md. */
export function readEmployees(): readonly Employee[] {
  return parse<Employee>(readFileSync(dataFile('employees.csv')), { columns: true, skipEmptyLines: true })
}

/** The distinct values of a column, in the order of their first appearance; levels in their own order. */
export function valuesOf(employees: readonly Employee[], column: Select): readonly string[] {
  const values = [...new Set(employees.map((employee) => employee[column]))]
  return column === 'JobLevel' ? values.sort() : values
}

/** The key of an attribute or value: `Research & Development` → `research_development`. */
export const keyOf = (text: string): string =>
  text
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .replace(/^(?=\d)/, 'level_')

// The data is read from the source tree, also when this runs compiled from dist/examples/demo.
function dataFile(name: string): string {
  const compiled = import.meta.url.includes('/dist/examples/')
  return fileURLToPath(new URL(compiled ? `../../../examples/data/${name}` : `../data/${name}`, import.meta.url))
}
