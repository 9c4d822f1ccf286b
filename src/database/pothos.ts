// What Pothos' Prisma plugin needs to know of the rows, generated from the Prisma schema.
export { getDatamodel } from './generated/pothos.ts'
export type { default as PrismaTypes } from './generated/pothos.ts'
